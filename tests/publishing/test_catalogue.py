"""The texts of public files: every language has all of them, and the public files use no others."""

import json
import re
from string import Formatter

import openpyxl
import pytest

import cellveil as cv
from cellveil.errors import InputError
from cellveil.judge import audit
from cellveil.publishing import release
from cellveil.publishing.catalogue import LANGUAGES, catalogue
from helpers.pages import ROOT
from helpers.planted_table import planted

PACKAGE = ROOT / "src" / "cellveil" / "publishing"
GIVEN = {"title": "Umsatz", "unit": "1 000 EUR", "source": "Erhebung", "contact": "Amt", "date": "2026"}


def names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def released(folder, **options):
    problem, pattern = planted()
    return release(audit(problem, pattern), folder / "out", formats=["csv", "xlsx", "html"], **options).folder


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_all_texts_with_the_same_names(language):
    texts, first = catalogue(language).texts, catalogue(LANGUAGES[0]).texts
    assert list(texts) == list(first)
    for key, text in texts.items():
        assert names_in(text) == names_in(first[key]), key
        assert text.strip() or key.startswith("numbers."), key


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_texts_are_translated(language):
    texts, first = catalogue(language).texts, catalogue(LANGUAGES[0]).texts
    assert not [key for key in texts if texts[key] == first[key]]


def test_every_file_of_texts_is_a_language():
    assert {path.stem for path in (PACKAGE / "texts").iterdir()} == set(LANGUAGES)


def test_every_text_is_used_and_every_used_one_exists():
    sources = "".join(path.read_text("utf-8") for path in [*PACKAGE.glob("*.py"), *PACKAGE.rglob("*.html")])
    for key in catalogue("en").texts:
        section, _, name = key.partition(".")
        stem = re.sub(r"_(one|many|rounded)$", "", name)
        used = any(word in sources for word in (f"{section}.{stem}", f'"{stem}"'))
        assert used or section == "language", key


def test_a_template_has_no_words_of_its_own():
    for name in ("public.html", "_public_table.html"):
        text = (PACKAGE / "templates" / name).read_text("utf-8")
        text = re.sub(r"{[{%].*?[%}]}|<(script|style)>.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
        assert not re.search(r"[A-Za-z]{2}", text.replace("&nbsp;", "")), name


def test_numbers_are_written_as_the_language_does():
    assert catalogue("en").number(-1234567, 2) == "-12,345.67"
    assert catalogue("de").number(-1234567, 2) == "-12\u202f345,67"
    assert catalogue("de").number(123) == "123"


def test_a_german_release(tmp_path):
    folder = released(tmp_path, language="de", decimals=1, **GIVEN)
    page = (folder / "index.html").read_text("utf-8")
    assert '<html lang="de">' in page and "4\u202f321,8" in page and "4,321" not in page
    assert "nicht veröffentlicht, zum Schutz der Befragten" in page and "not published" not in page
    assert "value nach industry, region" in page and "Einheit: 1 000 EUR" in page
    for text in ("Quelle: Erhebung", "Kontakt: Amt", "Stand: 2026"):
        assert text in page
    book = openpyxl.load_workbook(folder / "table.xlsx")
    assert book.sheetnames == ["Tabelle", "Hinweise"] and book.properties.language == "de"
    words = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row if cell.value]
    assert "Quelle: Erhebung" in words and not any("not published" in word for word in words)
    about = json.loads((folder / "about.json").read_text("utf-8"))
    assert about["language"] == "de" and about["unit"] == "1 000 EUR" and about["source"] == "Erhebung"
    assert (folder / "table.csv").read_text("utf-8").startswith("industry,region,value,flag\n")


def test_what_is_not_given_is_not_mentioned(tmp_path):
    folder = released(tmp_path)
    page = (folder / "index.html").read_text("utf-8")
    assert not re.search(r"Source|Unit|Contact|Date\b", page.partition("<script>")[0])
    assert not {"source", "unit", "contact", "language"} & set(
        json.loads((folder / "about.json").read_text())
    )


def test_unknown_languages_and_variables_are_refused(tmp_path):
    with pytest.raises(InputError, match="no texts in 'fr'"):
        released(tmp_path, language="fr")
    with pytest.raises(InputError, match="'sales', which is no variable"):
        released(tmp_path, unit={"sales": "EUR"})
    assert not list(tmp_path.iterdir())


def test_a_job_says_language_and_imprint(tmp_path):
    (tmp_path / "firms.csv").write_text("region,sales,jobs\n" + "N,5,1\nS,7,2\nW,9,3\n" * 4)
    (tmp_path / "job.toml").write_text(
        """language = "de"
output = "out"
[microdata]
file = "firms.csv"
[[tables]]
dimensions = ["region"]
response = "sales"
[[tables]]
dimensions = ["region"]
response = "jobs"
[[rules]]
rule = "threshold"
minimum = 2
[release]
formats = ["html"]
unit = {sales = "1 000 EUR", jobs = "Personen"}
source = "Erhebung"
"""
    )
    result = cv.run_job(cv.read_job(tmp_path / "job.toml"))
    assert result.release is not None
    page = (result.release.folder / "index.html").read_text("utf-8")
    for text in ("sales nach region", "Einheit: 1 000 EUR", "Einheit: Personen", "Quelle: Erhebung"):
        assert text in page
    job = (tmp_path / "job.toml").read_text()
    (tmp_path / "job.toml").write_text(job.replace("jobs = ", "job = "))
    with pytest.raises(InputError, match="Did you mean 'jobs'"):
        cv.run_job(cv.read_job(tmp_path / "job.toml"))
    (tmp_path / "job.toml").write_text(job.replace('"Personen"', "5"))
    with pytest.raises(InputError, match="line 16: the unit is neither a text nor a set of texts"):
        cv.read_job(tmp_path / "job.toml")
