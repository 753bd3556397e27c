#!/usr/bin/env python3
"""A slow link between two nodes of the test cluster: relay.py KEEPER_A ADDRESS_A KEEPER_B ADDRESS_B DELAY_US
READY

Packets between the two go through a program: a network device in each node's namespace, which holds what the
other one sent for DELAY_US.
The routes to it are gone when it ends. READY is made when it carries packets."""
import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x1, 0x1000, 0x40000000


def open_end(keeper, own, other):
    """A device in the keeper's network: what it sends to `other` comes here."""
    with open(f'/proc/{keeper}/ns/net', 'rb') as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f'the network of process {keeper} cannot be entered')
    device = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    name = 'relay%d' % (int(other.rsplit('.', 1)[1]))
    fcntl.ioctl(device, TUNSETIFF, struct.pack('16sH', name.encode(), IFF_TUN | IFF_NO_PI))
    # without an address of its own MPI libraries take it for no network
    subprocess.run(['ip', 'link', 'set', name, 'txqueuelen', '10000', 'up'], check=True)
    subprocess.run(['ip', 'route', 'add', f'{other}/32', 'dev', name, 'src', own], check=True)
    return device


def main():
    keeper_a, address_a, keeper_b, address_b, delay_us, ready = sys.argv[1:]
    ends = [open_end(keeper_a, address_a, address_b), open_end(keeper_b, address_b, address_a)]
    to = {ends[0]: ends[1], ends[1]: ends[0]}
    held = collections.deque()  # (due, end, packet): all are held for as long
    open(ready, 'w', encoding='ascii').close()
    while True:
        wait = max(0.0, held[0][0] - time.monotonic()) if held else None
        for end in select.select(ends, [], [], wait)[0]:
            held.append((time.monotonic() + int(delay_us) * 1e-6, to[end], os.read(end, 65536)))
        while held and held[0][0] <= time.monotonic():
            _, end, packet = held.popleft()
            try:
                os.write(end, packet)
            except BlockingIOError:
                pass  # lost, as on any link: TCP sends it again


main()
