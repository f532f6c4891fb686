"""PDF files for tests, written by hand."""


def made(*pages: list[tuple[float, float, str]], more: str = "", info: str = "(Of lamps)") -> bytes:
    """A PDF whose pages hold lines of text: size, distance from the top in points, words."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        text = "\n".join(f"BT /F1 {size} Tf 72 {800 - top} Td ({words}) Tj ET" for size, top, words in lines)
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< /Title {info} /Author (Ada Keeper) /CreationDate (D:20240517120000Z) >>")
    out = "%PDF-1.4\n"
    places = []
    for number, each in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    size = len(objects)
    out += f"trailer\n<< /Size {size + 1} /Root 1 0 R /Info {size} 0 R {more} >>\nstartxref\n{start}\n%%EOF"
    return out.encode("latin-1")
