"""Read QR codes as a phone does: from pixels, by a library that knows nothing of the one that draws them."""

import io
import re

import zxingcpp
from PIL import Image, ImageDraw

_SVG = re.compile(r'<svg viewBox="0 0 (\d+) (\d+)" class="qr"><path stroke="#000" d="([^"]+)"\s*/?>')
_STEP = re.compile(r"([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?")
_SCALE = 8
"""Pixels for each module of a drawn code."""


def in_page(html: str) -> str:
    """Return the text of the QR code in a page, of which there is one. Raises AssertionError if it cannot be read."""
    [(width, height, path)] = _SVG.findall(html)
    return _read(_drawn(int(width), int(height), path))


def in_picture(png: bytes) -> str:
    """Return the text of the QR code in a screenshot. Raises AssertionError if it cannot be read."""
    return _read(Image.open(io.BytesIO(png)).convert("L"))


def _read(picture: Image.Image) -> str:
    found = zxingcpp.read_barcodes(picture, formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode))
    assert len(found) == 1, f"{len(found)} QR codes"
    return str(found[0].text)


def _drawn(width: int, height: int, path: str) -> Image.Image:
    """Return the picture of an SVG path of horizontal strokes, each one unit thick."""
    picture = Image.new("L", (width * _SCALE, height * _SCALE), 255)
    pen = ImageDraw.Draw(picture)
    x = y = 0.0
    for command, first, second in _STEP.findall(path):
        match command:
            case "M":
                x, y = float(first), float(second)
            case "m":
                x, y = x + float(first), y + float(second)
            case _:
                end = x + float(first)
                pen.rectangle(
                    (x * _SCALE, (y - 0.5) * _SCALE, end * _SCALE - 1, (y + 0.5) * _SCALE - 1), fill=0
                )
                x = end
    return picture
