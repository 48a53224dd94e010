"""Tables from files and back: what was there comes back as it was, what is wrong is named."""

import io
import os
import sys
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import loadmat, savemat

from polycomplete import io as files
from polycomplete.io import ReadOptions, TableFileError, read_table, write_table, written_whole
from polycomplete.io.text import read_text, write_text

FRAME = pl.DataFrame({"size": [1.5, None, 3.0], "colour": ["red", "blue", None]})
SUFFIXES = ["csv", "tsv", "txt", "parquet", "arrow", "feather", "xlsx"]


def put(folder, name, content):
    """Write a file; return its path as text."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_comes_back(tmp_path, suffix):
    path = str(tmp_path / f"a.{suffix}")
    write_table(files.Table("memory", FRAME), path)
    table = read_table(path)
    assert table.frame.equals(FRAME)
    filled = table.completed(
        pl.DataFrame({"size": [9.0, 2.25, 9.0], "colour": ["x", "x", "green"]})
    )
    write_table(filled, path, force=True)
    again = read_table(path).frame
    assert again.rows() == [(1.5, "red"), (2.25, "blue"), (3.0, "green")]


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_keep_their_bits(tmp_path, suffix, dtype):
    X = np.random.default_rng(0).standard_normal((5, 3)).astype(dtype)
    X[2, 1] = np.nan
    path = tmp_path / f"a.{suffix}"
    if suffix == "mat":
        savemat(path, {"points": X})
    else:
        np.save(path, X) if suffix == "npy" else np.savez(path, points=X)
    table = read_table(str(path))
    assert table.frame.null_count().row(0) == (0, 1, 0)
    write_table(table.completed(pl.DataFrame({"column 2": np.full(5, 7.0)})), str(path), force=True)
    found = loadmat(path) if suffix == "mat" else np.load(path)
    found = found if suffix == "npy" else found["points"]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.where(np.isnan(X), dtype(7), X))


def test_cells_that_are_there_are_copied_to_the_letter(tmp_path):
    source = 'id, size ,note\r\n007,1.10,"a, b"\r\n008, NA ,x\r\n+9,1e3,\r\n'
    path = put(tmp_path, "a.csv", source)
    table = read_table(path)
    assert table.frame.columns == ["id", "size", "note"]
    assert table.frame.rows() == [("007", 1.1, "a, b"), ("008", None, "x"), ("+9", 1000.0, None)]
    size = pl.DataFrame({"size": [0.0, 2 / 3, 0.0]})
    write_table(table.completed(size), str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_bytes().decode() == source.replace(" NA ", "0.6666666667")


def test_a_file_is_written_as_it_was_read(tmp_path):
    for name, content in {
        "bom.csv": b"\xef\xbb\xbfa;b\r\n1;\xc3\xa4\r\n",
        "plain.csv": b"a,b\n1,\xc3\xa4\n",
        "tabs.tsv": b"a\tb\n1\t2\n",
        "bars.txt": b"a|b\n1|2\n",
    }.items():
        path = put(tmp_path, name, content)
        write_table(read_table(path), path, force=True)
        assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize(
    ("encoding", "bytes_in_order", "mark"),
    [
        ("utf-8", "utf-8", ""),
        ("utf-8-sig", "utf-8", ""),
        ("utf-8-sig", "utf-8", "\ufeff"),
        ("utf-16", "utf-16-le", "\ufeff"),
        ("utf-16", "utf-16-be", "\ufeff"),
        ("utf-16-be", "utf-16-be", "\ufeff"),
        ("utf-16-le", "utf-16-le", ""),
        ("utf-32", "utf-32-le", "\ufeff"),
        ("utf-32", "utf-32-be", "\ufeff"),
        ("utf-32-be", "utf-32-be", ""),
    ],
)
def test_line_ends_and_marks_stay(tmp_path, encoding, bytes_in_order, mark):
    headers = "a;b", '"a\n1";b', '"a;1";b', '"a\r\n1";b'
    for newline, header in product(("\n", "\r\n", "\r"), headers):
        text = mark + newline.join([header, "1.50;ä", ";ü", ""])
        path = put(tmp_path, "a.csv", text.encode(bytes_in_order))
        table = read_table(path, ReadOptions(encoding=encoding))
        assert table.frame["b"].to_list() == ["ä", "ü"]
        filled = table.completed(pl.DataFrame({table.frame.columns[0]: [0.0, 2.5]}))
        write_table(filled, path, force=True)
        expected = text.replace(newline + ";ü", newline + "2.5;ü").encode(bytes_in_order)
        assert (tmp_path / "a.csv").read_bytes() == expected, (newline, header)


def test_a_delimiter_between_quotation_marks_is_none(tmp_path):
    table = read_table(put(tmp_path, "a.csv", '"a, b";c\n1;2\n'))
    assert table.frame.columns == ["a, b", "c"]


def test_a_long_header_keeps_its_line_end(tmp_path):
    names = [f"a column with a long name, {j} {'x' * 300}" for j in range(500)]
    content = ";".join(names) + "\r\n" + ";".join("1" for _ in names) + "\r\n"
    path = put(tmp_path, "a.csv", content)
    write_table(read_table(path, ReadOptions(delimiter=";")), path, force=True)
    assert (tmp_path / "a.csv").read_bytes() == content.encode()


def test_another_encoding_goes_in_and_out(tmp_path):
    content = "Name;Größe\nBär;1,5\nElch;\n".encode("latin-1")
    table = read_table(
        put(tmp_path, "a.csv", content), ReadOptions(encoding="latin-1", decimal=",")
    )
    assert table.frame.rows() == [("Bär", 1.5), ("Elch", None)]
    write_table(table.completed(pl.DataFrame({"Größe": [0.0, 2.75]})), str(tmp_path / "b.csv"))
    expected = "Name;Größe\nBär;1,5\nElch;2,75\n".encode("latin-1")
    assert (tmp_path / "b.csv").read_bytes() == expected


def test_text_becomes_another_kind_and_the_other_way_round(tmp_path):
    table = read_table(put(tmp_path, "a.csv", "a,b\n1.50,x\n,y\n"))
    write_table(table, str(tmp_path / "a.parquet"))
    assert pl.read_parquet(tmp_path / "a.parquet").rows() == [(1.5, "x"), (None, "y")]
    write_table(read_table(str(tmp_path / "a.parquet")), str(tmp_path / "b.tsv"))
    assert (tmp_path / "b.tsv").read_text() == "a\tb\n1.5\tx\n\ty\n"
    write_table(table, str(tmp_path / "c.tsv"))
    assert (tmp_path / "c.tsv").read_text() == "a\tb\n1.50\tx\n\ty\n"
    with pytest.raises(TableFileError, match=r"Column 'b' of .*a\.csv is not numeric"):
        write_table(table, str(tmp_path / "a.npy"))
    assert not (tmp_path / "a.npy").exists()


def test_missing_cells_have_many_names(tmp_path):
    path = put(tmp_path, "a.csv", "a,b\nNA,?\n, N/A\nnan,x\n-999.0,-999\n5,none\n")
    table = read_table(path, ReadOptions(missing=("-999", "none")))
    assert table.frame["a"].to_list() == [None, None, None, None, 5]
    assert table.frame["b"].to_list() == [None, None, "x", None, None]


def test_signs_and_words_are_missing_among_numbers_and_days(tmp_path):
    cells = ["-", "--", ".", "None", "n/A", "unknown", " MISSING "]
    rows = "".join(f"{cell},{cell}\n" for cell in cells)
    table = read_table(put(tmp_path, "a.csv", f"n,day\n1.5,2024-01-31\n{rows}"))
    assert table.frame.dtypes == [pl.Float64, pl.Date]
    assert table.frame.null_count().row(0) == (7, 7)
    assert table.marked["n"] == dict.fromkeys(map(str.strip, cells), 1)
    filled = table.completed(pl.DataFrame({"n": [0.0, 1, 2, 3, 4, 5, 6, 7]}))
    assert filled.texts["n"].to_list() == ["1.5", *"1234567"]


def test_signs_are_missing_in_text_and_words_stay(tmp_path):
    table = read_table(put(tmp_path, "a.csv", "a\nred\n-\n--\n.\nN/a\nnone\nUnknown\n-\n"))
    assert table.frame["a"].to_list() == ["red", *[None] * 4, "none", "Unknown", None]
    assert table.marked["a"] == {"-": 2, "--": 1, ".": 1, "N/a": 1}
    pl.DataFrame({"a": ["red", "-"]}).write_parquet(tmp_path / "a.parquet")
    assert read_table(str(tmp_path / "a.parquet")).frame["a"].to_list() == ["red", "-"]


def test_signs_and_words_of_excel_files(tmp_path):
    day = pd.Timestamp("2024-01-31")
    cells = {"n": [1.5, "-", 3], "day": [day, "none", None], "kind": ["x", ".", "none"]}
    pd.DataFrame(cells).to_excel(tmp_path / "a.xlsx", index=False)
    table = read_table(str(tmp_path / "a.xlsx"))
    assert table.frame.rows() == [(1.5, day.date(), "x"), (None, None, None), (3, None, "none")]
    assert table.marked == {"n": {"-": 1}, "day": {"none": 1}, "kind": {".": 1}}


def test_one_sheet_of_an_excel_file_is_read_and_keeps_its_name(tmp_path):
    path, out = str(tmp_path / "a.xlsx"), str(tmp_path / "b.xlsx")
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        for name, value in (("May", 1.0), ("June 2", 2.0)):
            pd.DataFrame({"a": [value, None]}).to_excel(book, sheet_name=name, index=False)
        book.book.add_worksheet("none")
    first, second = read_table(path), read_table(path, ReadOptions(sheet="June 2"))
    assert (first.frame["a"][0], first.sheet, first.other_sheets) == (1, "May", ("June 2", "none"))
    assert (second.frame["a"][0], second.other_sheets) == (2, ("May", "none"))
    write_table(second, out)
    assert read_table(out, ReadOptions(sheet="June 2")).frame.equals(second.frame)
    with pytest.raises(TableFileError, match=r"a.xlsx holds no sheet 'July'; it has 'May', 'Ju"):
        read_table(path, ReadOptions(sheet="July"))
    with pytest.raises(TableFileError, match=r"a\.xlsx is empty"):
        read_table(path, ReadOptions(sheet="none"))
    FRAME.write_parquet(tmp_path / "a.parquet")
    for other in (put(tmp_path, "a.csv", "a\n1\n"), str(tmp_path / "a.parquet")):
        with pytest.raises(TableFileError, match=r"has no sheets; leave out --sheet"):
            read_table(other, ReadOptions(sheet="May"))


def test_a_first_column_without_a_name_stays_so(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None]})
    frame.to_csv(tmp_path / "a.csv")
    frame.to_excel(tmp_path / "a.xlsx")
    for suffix in ("csv", "xlsx"):
        path = str(tmp_path / f"a.{suffix}")
        for _ in range(2):
            table = read_table(path)
            assert table.frame.columns == ["", "a"]
            write_table(table, path, force=True)


def test_nan_is_missing_however_it_is_written(tmp_path):
    cells = ["NAN", "-nan", "nAn", "+NaN", "-NaN"]
    path = put(tmp_path, "a.csv", "a,b\n" + "".join(f"{cell},{cell}\n" for cell in cells) + "1,x\n")
    table = read_table(path)
    assert table.frame["a"].to_list() == [None] * 5 + [1]
    assert table.frame["b"].to_list() == [None] * 5 + ["x"]


def test_a_number_can_stand_for_missing_in_every_kind_of_file(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, -9], [2, 3]]))
    table = read_table(str(tmp_path / "a.npy"), ReadOptions(missing=("-9",)))
    assert table.frame.rows() == [(1, None), (2, 3)]
    pl.DataFrame({"a": [1, -9]}).write_parquet(tmp_path / "a.parquet")
    table = read_table(str(tmp_path / "a.parquet"), ReadOptions(missing=("-9",)))
    assert table.frame.rows() == [(1,), (None,)]


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.Int8])
def test_whole_numbers_stay_in_their_range(dtype):
    most = np.iinfo(str(dtype).lower()).max
    table = files.Table("a", pl.DataFrame({"n": pl.Series([int(most), None], dtype=dtype)}))
    filled = table.completed(pl.DataFrame({"n": [0.0, 1e300]})).frame["n"]
    assert filled.dtype == dtype
    assert filled[1] >= 0.99 * filled[0]


def test_types_stay_and_whole_numbers_stay_whole(tmp_path):
    given = {
        "n": [1, None],
        "m": pl.Series([1.5, None], dtype=pl.Float32),
        "u": pl.Series([1, None], dtype=pl.UInt8),
    }
    pl.DataFrame(given).write_parquet(tmp_path / "a.parquet")
    table = read_table(str(tmp_path / "a.parquet"))
    filled = table.completed(pl.DataFrame({"n": [9.0, 2.6], "m": [9.0, 2.5], "u": [9.0, -2.2]}))
    assert filled.frame.dtypes == [pl.Int64, pl.Float32, pl.UInt8]
    assert filled.frame.rows() == [(1, 1.5, 1), (3, 2.5, 0)]


def test_whole_numbers_in_text_are_recognised(tmp_path):
    table = read_table(put(tmp_path, "a.csv", f"a,b,c\n+1,1.0,{2**70}\n,2,3\n"))
    assert table.frame.dtypes == [pl.Int64, pl.Float64, pl.Float64]
    write_table(table.completed(pl.DataFrame({"a": [0.0, 2.7]})), str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_text() == f"a,b,c\n+1,1.0,{2**70}\n3,2,3\n"


def test_days_in_text_are_days(tmp_path):
    path = put(tmp_path, "a.csv", "a,b\n2024-01-31,2024-01-31\n,2024-02-31\n")
    table = read_table(path)
    assert table.frame.dtypes == [pl.Date, pl.String]  # February has no 31st
    days = pl.DataFrame({"a": pl.Series(["2024-01-31", "2024-02-29"]).str.to_date()})
    write_table(table.completed(days), str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_text() == "a,b\n2024-01-31,2024-01-31\n2024-02-29,2024-02-31\n"


def test_a_file_without_a_header_gets_none(tmp_path):
    path = put(tmp_path, "iris.data", "5.1,setosa\n,setosa\n")
    table = read_table(path, ReadOptions(header=False))
    assert table.frame.columns == ["column 1", "column 2"]
    write_table(table.completed(pl.DataFrame({"column 1": [0.0, 4.9]})), str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_text() == "5.1,setosa\n4.9,setosa\n"


def test_blank_lines_are_skipped_and_lines_counted(tmp_path):
    table = read_table(put(tmp_path, "a.csv", 'a,b\n\n1,"two\nlines"\n\n2,x\n'))
    assert table.frame.rows() == [(1.0, "two\nlines"), (2.0, "x")]
    assert table.place(1, "b").endswith("a.csv, line 6, column 'b'")


def test_lines_of_blanks_are_skipped(tmp_path):
    table = read_table(put(tmp_path, "a.csv", "  \na,b\n1,2\n \t \n3,4\n  \n"))
    assert table.frame.rows() == [(1, 2), (3, 4)]
    assert table.lines.tolist() == [3, 5]
    tabs = read_table(put(tmp_path, "a.tsv", "a\tb\n1\t2\n\t\n"))
    assert tabs.frame.rows() == [(1, 2), (None, None)]


def test_blank_lines_of_one_column_are_missing_cells(tmp_path):
    path = put(tmp_path, "a.csv", 'a\n1\n\n  \n""\n2\n\n\n')
    table = read_table(path)
    assert table.frame["a"].to_list() == [1, None, None, None, 2]
    assert table.lines.tolist() == [2, 3, 4, 5, 6]
    write_table(table, str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_text() == 'a\n1\n\n  \n""\n2\n'
    full = table.completed(pl.DataFrame({"a": [0.0, 7, 8, 9, 0]}))
    write_table(full, str(tmp_path / "c.csv"))
    assert (tmp_path / "c.csv").read_text() == "a\n1\n7\n8\n9\n2\n"
    table = read_table(put(tmp_path, "d.csv", "\n1\n\n2"), ReadOptions(header=False))
    assert table.frame["column 1"].to_list() == [None, 1, None, 2]


def test_a_column_is_added_in_both_forms(tmp_path):
    table = read_table(put(tmp_path, "a.csv", "a\n1.0\n")).with_column(pl.Series("cluster", [3]))
    write_table(table, str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_text() == "a,cluster\n1.0,3\n"


@given(st.lists(st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=4)] * 2), min_size=1))
def test_any_text_survives(rows):
    kept = [row for row in rows if "\x00" not in "".join(row)]
    frame = pl.DataFrame(kept, schema={"a": pl.String, "b": pl.String}, orient="row")
    first, second = io.BytesIO(), io.BytesIO()
    write_text(files.Table("memory", frame), first)
    if not kept:
        return
    table = read_text(first.getvalue(), "a.csv", ReadOptions())
    assert table.texts.rows() == kept
    write_text(table, second)
    assert first.getvalue() == second.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", r"bad\.csv is empty"),
        (b"\n\n", r"bad\.csv is empty"),
        (b"a,b\n", r"bad\.csv has a header and no rows"),
        (b"a,b\n1,2\n1,2,3\n", r"bad\.csv, line 3: 3 cells, but 2 columns; put quotation marks"),
        (b"a,b\n1,2\n\n1\n", r"bad\.csv, line 4: 1 cells, but 2 columns"),
        (b"a,b, a\n1,2,3\n", r"bad\.csv: columns 1 and 3 are both called 'a'"),
        (b"a,b\n1,2\nx,\xe4\n", r"bad\.csv, line 3: byte 0xe4 is not utf-8; name the right one"),
        (b'a,b\n1,"2\n3,4\n', r"bad\.csv, line 3: .*; is a quotation mark missing"),
        (b"a,b\n1,2\n1,inf\n", r"bad\.csv, line 3, column 'b': an infinite number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, content, says):
    with pytest.raises(TableFileError, match=says):
        read_table(put(tmp_path, "bad.csv", content))


def test_one_array_of_several_is_read_and_the_others_are_kept(tmp_path):
    arrays = {"A": np.array([[1.0, np.nan], [3.0, 4.0]]), "B": np.eye(3), "note": np.array(["hi"])}
    savemat(tmp_path / "a.mat", arrays)
    np.savez(tmp_path / "a.npz", **arrays)
    for suffix in ("mat", "npz"):
        path, out = str(tmp_path / f"a.{suffix}"), str(tmp_path / f"b.{suffix}")
        with pytest.raises(TableFileError, match=r"3 arrays \(A, B, note\) and none called X; cho"):
            read_table(path)
        with pytest.raises(TableFileError, match="none called C"):
            read_table(path, ReadOptions(variable="C"))
        table = read_table(path, ReadOptions(variable="A"))
        assert table.frame.rows() == [(1, None), (3, 4)]
        write_table(table.completed(pl.DataFrame({"column 2": [2.0, 9.0]})), out)
        assert read_table(out, ReadOptions(variable="A")).frame.rows() == [(1, 2), (3, 4)]
        assert read_table(out, ReadOptions(variable="B")).frame.rows() == [
            tuple(r) for r in np.eye(3)
        ]
    with pytest.raises(TableFileError, match="leave out --variable"):
        read_table(put(tmp_path, "a.csv", "a\n1\n"), ReadOptions(variable="A"))


def test_new_files_of_matlab_are_refused_with_the_remedy(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512))
    with pytest.raises(TableFileError, match=r"version 7\.3, which is not supported; use save"):
        read_table(str(path))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "xlsx", "npy", "npz", "mat"])
def test_damaged_files_are_called_so(tmp_path, suffix):
    with pytest.raises(TableFileError, match=rf"a\.{suffix} is not a .* is it damaged"):
        read_table(put(tmp_path, f"a.{suffix}", b"PAR1 nothing of the kind"))


@pytest.mark.parametrize("array", [np.zeros(3), np.array([["a"]]), np.zeros((2, 2, 2))])
def test_arrays_must_be_tables_of_numbers(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(TableFileError, match=r"a\.npy.*dimensions and type"):
        read_table(str(tmp_path / "a.npy"))


def test_archives_of_several_arrays_need_an_x(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.zeros((1, 1)), b=np.zeros((1, 1)))
    with pytest.raises(TableFileError, match=r"a\.npz holds 2 arrays \(a, b\) and none called X"):
        read_table(str(tmp_path / "a.npz"))


def test_options_and_paths_that_make_no_sense(tmp_path):
    path = put(tmp_path, "a.csv", "a,b\n1,2\n")
    for how, says in {
        ReadOptions(delimiter="ab"): "delimiter must be one character",
        ReadOptions(encoding="klingon"): "There is no encoding 'klingon'",
    }.items():
        with pytest.raises(TableFileError, match=says):
            read_table(path, how)
    with pytest.raises(TableFileError, match="There is no file"):
        read_table(str(tmp_path / "none.csv"))
    with pytest.raises(TableFileError, match="is a folder"):
        read_table(str(tmp_path))
    with pytest.raises(TableFileError, match=r"let its name end in one of .csv"):
        write_table(files.Table("memory", FRAME), str(tmp_path / "a.html"))


def test_a_file_is_not_overwritten_unless_forced(tmp_path):
    path = put(tmp_path, "a.csv", "mine")
    with pytest.raises(FileExistsError, match=r"a\.csv exists already"):
        write_table(files.Table("memory", FRAME), path)
    assert (tmp_path / "a.csv").read_text() == "mine"
    with pytest.raises(IsADirectoryError, match="is a folder"), written_whole(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        write_table(files.Table("memory", FRAME), str(tmp_path / "none" / "a.csv"))


def test_permissions_and_links_stay(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with written_whole(link, force=True) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("new", 0o640)


def test_devices_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with written_whole(pipe) as file:
        file.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"a.{suffix}"

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for before in {}, {path.name: b"what was there"}:
        for content in before.values():
            path.write_bytes(content)
        with pytest.raises(OSError, match=rf"No space left on device: '.*a\.{suffix}'"):
            write_table(files.Table("memory", FRAME), str(path), force=True)
        assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_an_interrupt_leaves_nothing_half_written(tmp_path):
    def interrupted():
        with written_whole(tmp_path / "a.csv") as file:
            file.write(b"half")
            assert [one.suffix for one in tmp_path.iterdir()] == [".part"]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_without_polars_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"needs polars; install it by .*polycomplete\[cli\]"):
        read_table(put(tmp_path, "a.csv", "a\n1\n"))


def test_a_large_cell_is_no_obstacle(tmp_path):
    table = read_table(put(tmp_path, "a.csv", f"a,b\n1,{'x' * 300_000}\n"))
    assert len(table.frame["b"][0]) == 300_000
