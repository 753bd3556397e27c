// Sorting and filtering of tables. Without scripts the tables stand as they were written.
(function () {
  'use strict';

  // The first number of a cell ("+1.23 %", "<1e-300", "1 234"); NaN where it has none.
  function number(text) {
    var found = text.replace(/[\u00a0\u202f ](?=\d{3}\b)/g, '').match(/[-+]?\d*\.?\d+(?:e[-+]?\d+)?/i);
    return found ? parseFloat(found[0]) : NaN;
  }

  function compare(column, is_text, down) {
    var value = function (cell) { return cell.hasAttribute('data-value') ? parseFloat(cell.getAttribute('data-value')) : number(cell.textContent); };
    return function (a, b) {
      var x = a.cells[column].textContent.trim(), y = b.cells[column].textContent.trim();
      if (is_text) return (down ? -1 : 1) * x.localeCompare(y, undefined, { numeric: true });
      var u = value(a.cells[column]), v = value(b.cells[column]);
      // what has no number comes last, either way
      if (isNaN(u) || isNaN(v)) return (isNaN(u) ? 1 : 0) - (isNaN(v) ? 1 : 0);
      return (down ? -1 : 1) * (u - v);
    };
  }

  function make_sortable(table) {
    var body = table.tBodies[0], heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      if (!head.textContent.trim()) return;
      var button = document.createElement('button');
      button.type = 'button';
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener('click', function () {
        var down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach(function (other) { other.removeAttribute('aria-sort'); });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        Array.prototype.slice.call(body.rows)
          .sort(compare(column, !head.classList.contains('num'), down))
          .forEach(function (row) { body.appendChild(row); });
      });
    });
  }

  function make_filter(table) {
    var field = document.createElement('input');
    field.type = 'search';
    field.className = 'filter';
    field.placeholder = 'show rows with \u2026';
    field.setAttribute('aria-label', 'Show only the rows that hold all of these words');
    field.addEventListener('input', function () {
      var words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
      });
    });
    table.parentNode.parentNode.insertBefore(field, table.parentNode);
  }

  Array.prototype.forEach.call(document.querySelectorAll('.table table'), function (table) {
    if (table.tBodies[0].rows.length < 2) return;
    make_sortable(table);
    if (table.tBodies[0].rows.length > 8) make_filter(table);
  });
})();
