"""Excel workbooks, written by hand: cells are texts, numbers, booleans, dates or None."""

import datetime
import zipfile
from xml.sax.saxutils import escape

_START = datetime.datetime(1899, 12, 30)  # day 0 of Excel's calendar
_DATE_STYLE = 1
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def write_workbook(path, *sheets):
    """Write sheets, each a list of rows."""
    names = [f"sheet{k + 1}" for k in range(len(sheets))]
    listed = "".join(
        f'<sheet name="{name}" sheetId="{k + 1}" r:id="r{k + 1}"/>' for k, name in enumerate(names)
    )
    related = "".join(
        f'<Relationship Id="r{k + 1}" Type="{_OFFICE}/worksheet" Target="worksheets/{name}.xml"/>'
        for k, name in enumerate(names)
    )
    styles = (
        f'<styleSheet xmlns="{_MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22"/>'
        "</cellXfs></styleSheet>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="r0" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_PACKAGE}">{related}<Relationship Id="s" '
            f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        book.writestr("xl/styles.xml", styles)
        for name, rows in zip(names, sheets, strict=True):
            lines = "".join(_line(number + 1, row) for number, row in enumerate(rows))
            book.writestr(
                f"xl/worksheets/{name}.xml",
                f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>',
            )
    return path


def _line(number, row):
    cells = "".join(
        _cell(f"{chr(ord('A') + k)}{number}", value)
        for k, value in enumerate(row)
        if value is not None
    )
    return f'<row r="{number}">{cells}</row>'


def _cell(place, value):
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime.datetime):
        days = (value - _START) / datetime.timedelta(days=1)
        return f'<c r="{place}" s="{_DATE_STYLE}"><v>{days!r}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
