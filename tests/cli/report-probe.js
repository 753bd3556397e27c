// Appended to a report by report.bats: what a browser makes of it, as JSON for the page around it.
window.addEventListener('load', function () {
  'use strict';
  var out = { width: innerWidth };
  var all = function (selector, within) { return Array.prototype.slice.call((within || document).querySelectorAll(selector)); };
  var shown = function (element) { return element.getClientRects().length > 0; };
  var name = function (element) { return element.closest('figure') ? element.closest('figure').id : ''; };

  // the first screen
  var words = document.querySelector('#answer .words'), picture = all('#answer .drawn').filter(shown)[0];
  out.answer = words.textContent.replace(/\s+/g, ' ').trim();
  out.answer_bottom = Math.round(words.getBoundingClientRect().bottom);
  out.picture_top = picture ? Math.round(picture.getBoundingClientRect().top) : null;
  out.picture_bottom = picture ? Math.round(picture.getBoundingClientRect().bottom) : null;
  out.wider_by = document.documentElement.scrollWidth - innerWidth;

  // every section, unfolded
  out.sections = all('main > section').map(function (section) { return section.id; });
  out.sentences = all('main > section .says').filter(function (p) { return p.textContent.trim().length > 10; }).length;
  out.dead_links = all('a[href^="#"]').filter(function (a) { return !document.getElementById(a.getAttribute('href').slice(1)); }).length;
  all('details').forEach(function (fold) { fold.open = true; });
  out.folds = all('details').length;
  out.empty_folds = all('details').filter(function (fold) { return fold.lastElementChild.getBoundingClientRect().height < 5; })
    .map(function (fold) { return fold.textContent.trim().slice(0, 60); });
  out.wider_by_open = document.documentElement.scrollWidth - innerWidth;
  out.pictures = all('.drawn').filter(shown).length;
  out.without_words = all('.drawn svg:not([aria-label]), .drawn img:not([alt])').length;

  // words of a drawing that cover each other, or leave it
  out.overlaps = [];
  out.cut = [];
  all('.drawn svg').filter(shown).forEach(function (svg) {
    var frame = svg.getBoundingClientRect();
    var boxes = all('text', svg).map(function (text) { return { text: text.textContent, box: text.getBoundingClientRect() }; });
    boxes.forEach(function (a, i) {
      if (a.box.left < frame.left - 1 || a.box.right > frame.right + 1 || a.box.top < frame.top - 1 || a.box.bottom > frame.bottom + 1) {
        out.cut.push(name(svg) + ': ' + a.text);
      }
      boxes.slice(i + 1).forEach(function (b) {
        var wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        var high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        // boxes have air above and below their letters
        if (wide > 1 && high > 0.4 * Math.min(a.box.height, b.box.height)) out.overlaps.push(name(svg) + ': ' + a.text + ' / ' + b.text);
      });
    });
  });

  // sorting and filtering
  var table = all('.table table').filter(function (t) { return t.tBodies[0].rows.length > 2 && t.querySelector('th button'); })[0];
  if (table) {
    var column = table.tHead.rows[0].cells.length - 2, button = table.tHead.rows[0].cells[column].querySelector('button');
    var values = function () {
      return Array.prototype.map.call(table.tBodies[0].rows, function (row) { return parseFloat(row.cells[column].textContent); })
        .filter(function (x) { return !isNaN(x); });
    };
    var rising = function (x) { return x.every(function (v, i) { return i === 0 || x[i - 1] <= v; }); };
    button.click();
    out.sorts_up = rising(values());
    button.click();
    out.sorts_down = rising(values().reverse());
  }
  var field = document.querySelector('input.filter');
  if (field) {
    var rows = field.parentNode.querySelector('table').tBodies[0].rows;
    field.value = 'no row has this';
    field.dispatchEvent(new Event('input'));
    out.filtered = Array.prototype.every.call(rows, function (row) { return row.hidden; });
    field.value = '';
    field.dispatchEvent(new Event('input'));
    out.unfiltered = !Array.prototype.some.call(rows, function (row) { return row.hidden; });
  }

  parent.postMessage(JSON.stringify(out), '*');
});
