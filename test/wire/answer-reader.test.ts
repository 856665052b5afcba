import { describe, expect, test } from "bun:test";
import { ResponseReader } from "../../src/wire/response-reader.ts";
import { seededRandom } from "../support/random.ts";
import { byteByByte, everyCut, randomCuts } from "./cuts.ts";
import { type ReadResponse, readPieces } from "./reading.ts";

const read = (text: string) => readPieces([Buffer.from(text, "latin1")]);

function expectRead(text: string, expected: Partial<ReadResponse>): void {
  const bytes = Buffer.from(text, "latin1");
  expect(readPieces([Buffer.from(bytes)])).toMatchObject(expected);
  for (const pieces of everyCut(bytes)) expect(readPieces(pieces)).toMatchObject(expected);
  expect(readPieces(byteByByte(bytes))).toMatchObject(expected);
}

/** Complete, without surplus bytes, on a connection that can be reused. */
const proper = { isComplete: true, isReusable: true, endsWithConnection: false };

describe("an answer, in one piece, in two wherever it is cut, and byte by byte", () => {
  test("with a length", () => {
    const text = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{"a": 1}';
    expectRead(text, { ...proper, statuses: [200], body: '{"a": 1}' });
  });

  test("with a length of nothing", () => {
    expectRead("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", { ...proper, statuses: [200], body: "" });
  });

  test("in chunks", () => {
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    expectRead(`${head}5\r\nhello\r\n6;x\r\n world\r\n0\r\n\r\n`, {
      ...proper,
      statuses: [200],
      body: "hello world",
    });
  });

  test("in chunks with a trailer", () => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n";
    expectRead(`${head}5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n`, { ...proper, body: "hello" });
  });

  test("until the connection ends", () => {
    expectRead("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nhello", {
      body: "hello",
      isComplete: false,
      isReusable: false,
      endsWithConnection: true,
    });
  });

  test("after interim answers", () => {
    const interim =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\ncontent-length: 9\r\n\r\n";
    expectRead(`${interim}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`, {
      ...proper,
      statuses: [200],
      body: "ok",
    });
  });

  for (const status of [204, 304]) {
    for (const header of ["", "content-length: 5\r\n", "transfer-encoding: chunked\r\n"]) {
      test(`of status ${status}, which has no body whatever it says: ${header.trim() || "nothing"}`, () => {
        expectRead(`HTTP/1.1 ${status} X\r\n${header}\r\n`, { ...proper, statuses: [status], body: "" });
      });
    }
  }

  test("whose status line has no reason phrase, nor a space for it", () => {
    expectRead("HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok", { ...proper, statuses: [200], body: "ok" });
    expectRead("HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", { ...proper, statuses: [200], body: "ok" });
    expectRead("HTTP/1.1 200\r\n\r\nok", { statuses: [200], body: "ok", endsWithConnection: true });
  });

  test("with surplus bytes, after which the connection is not reused", () => {
    const spoilt = { isComplete: true, isReusable: false };
    for (const text of [
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok!",
      "HTTP/1.1 204 No Content\r\n\r\n!",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n!",
    ]) {
      expect(read(text)).toMatchObject({ ...spoilt, statuses: [text.includes("204") ? 204 : 200] });
      expect(read(text).body).not.toContain("!");
    }
  });

  test("random answers, cut at random, one after the other on one connection", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seededRandom(seed);
      const reader = new ResponseReader();
      for (let answers = 1 + random.below(3); answers > 0; answers--) {
        const body = "x".repeat(random.below(200));
        const half = random.below(body.length + 1);
        const chunk = (data: string) => (data === "" ? "" : `${data.length.toString(16)}\r\n${data}\r\n`);
        const [header, sent] = random.chance(0.5)
          ? [`content-length: ${body.length}`, body]
          : [
              "transfer-encoding: chunked",
              `${chunk(body.slice(0, half))}${chunk(body.slice(half))}0\r\n\r\n`,
            ];
        const interim = random.chance(0.2) ? "HTTP/1.1 103 Early Hints\r\n\r\n" : "";
        const bytes = Buffer.from(`${interim}HTTP/1.1 200 OK\r\nserver: x\r\n${header}\r\n\r\n${sent}`);
        const answer = readPieces(randomCuts(bytes, random), reader);
        expect({ seed, ...answer }).toMatchObject({ seed, ...proper, statuses: [200], body });
      }
    }
  });
});

describe("whether a connection is reused", () => {
  const ended = "content-length: 0\r\n\r\n";
  for (const [what, text, isReusable] of [
    ["HTTP/1.1 says nothing of it", `HTTP/1.1 200 OK\r\n${ended}`, true],
    ["it says keep-alive", `HTTP/1.1 200 OK\r\nconnection: keep-alive\r\n${ended}`, true],
    ["it says close", `HTTP/1.1 200 OK\r\nconnection: close\r\n${ended}`, false],
    ["it says so in capitals", `HTTP/1.1 200 OK\r\nConnection: Close\r\n${ended}`, false],
    ["it says so among other things", `HTTP/1.1 200 OK\r\nconnection: foo, close\r\n${ended}`, false],
    [
      "it says so in a second line",
      `HTTP/1.1 200 OK\r\nconnection: foo\r\nconnection: close\r\n${ended}`,
      false,
    ],
    ["HTTP/1.0", `HTTP/1.0 200 OK\r\n${ended}`, false],
  ] as const) {
    test(`${what}: ${isReusable ? "yes" : "no"}`, () => {
      expect(read(text)).toMatchObject({ isComplete: true, isReusable });
    });
  }
});

describe("the headers of an answer", () => {
  const head = read(
    "HTTP/1.1 200 Fine\r\nContent-Type: text/event-stream\r\nX-Empty:\r\nRETRY-AFTER: \t 7 \t\r\nx-name: a: b\r\nx-twice: first\r\nx-twice: second\r\nLast-One: é\r\n\r\n",
  ).head;

  for (const [name, value] of [
    ["content-type", "text/event-stream"],
    ["x-empty", ""],
    ["retry-after", "7"],
    ["x-name", "a: b"],
    ["x-twice", "first"],
    ["last-one", "é"],
    ["type", null],
    ["x-nam", null],
    ["http/1.1 200 fine", null],
  ] as const) {
    test(`${name}: ${value === null ? "is not there" : JSON.stringify(value)}`, () => {
      expect(head?.get(name) ?? null).toBe(value);
    });
  }

  test("a value is found in the last line and in none at all", () => {
    expect(read("HTTP/1.1 200 OK\r\na: b\r\n\r\n").head?.get("a")).toBe("b");
    expect(read("HTTP/1.1 200 OK\r\n\r\n").head?.get("a")).toBeNull();
  });
});

describe("an answer that is not proper HTTP is refused", () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  for (const [what, text, problem] of [
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n", "status line"],
    ["HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", "status line"],
    ["no status", "HTTP/1.1 OK\r\n\r\n", "status line"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "status line"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "status line"],
    ["status 000", "HTTP/1.1 000 OK\r\n\r\n", "status line"],
    ["an empty line first", "\r\n\r\n", "status line"],
    ["a change of protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n", "protocol"],
    ["two lengths", `${ok}content-length: 2\r\nContent-Length: 3\r\n\r\nok`, "more than one content-length"],
    ["a list of lengths", `${ok}content-length: 2, 2\r\n\r\nok`, "not a number"],
    ["a negative length", `${ok}content-length: -2\r\n\r\nok`, "not a number"],
    ["a length with a sign", `${ok}content-length: +2\r\n\r\nok`, "not a number"],
    ["an empty length", `${ok}content-length:\r\n\r\nok`, "not a number"],
    ["a length in hexadecimal", `${ok}content-length: 0x2\r\n\r\nok`, "not a number"],
    ["a length beyond measure", `${ok}content-length: 99999999999999999999\r\n\r\nok`, "not a number"],
    ["an unknown transfer coding", `${ok}transfer-encoding: gzip\r\n\r\n`, "transfer coding"],
    ["two transfer codings", `${ok}transfer-encoding: gzip, chunked\r\n\r\n`, "transfer coding"],
    [
      "two transfer codings in two lines",
      `${ok}transfer-encoding: chunked\r\ntransfer-encoding: gzip\r\n\r\n`,
      "transfer-encoding",
    ],
    ["a version that does not exist", "HTTP/1.2 200 OK\r\n\r\n", "status line"],
    ["a version of two digits", "HTTP/1.10 200 OK\r\n\r\n", "status line"],
    ["a version in lower case", "http/1.1 200 OK\r\n\r\n", "status line"],
    ["a tab behind the version", "HTTP/1.1\t200 OK\r\n\r\n", "status line"],
    ["two spaces behind the version", "HTTP/1.1  200 OK\r\n\r\n", "status line"],
    ["a status beyond those that mean something", "HTTP/1.1 600 OK\r\n\r\n", "status line"],
    ["a control character in the reason", "HTTP/1.1 200 O\x01K\r\n\r\n", "status line"],
    ["bare LFs", "HTTP/1.1 200 OK\ncontent-length: 0\n\n", "CR and LF"],
    ["a bare LF between headers", `${ok}a: b\ncontent-length: 0\r\n\r\n`, "CR and LF"],
    ["a bare CR between headers", `${ok}a: b\rcontent-length: 0\r\n\r\n`, "CR and LF"],
    ["a bare CR in a name", `${ok}Content\rLength: 0\r\n\r\n`, "CR and LF"],
    ["two CRs", `${ok}a: b\r\r\nc: d\r\n\r\n`, "CR and LF"],
    ["a folded header", `${ok}a: b\r\n c\r\n\r\n`, "form"],
    ["a header folded with a tab", `${ok}a: b\r\n\tc: d\r\n\r\n`, "form"],
    ["a space before the first header", `${ok} a: b\r\n\r\n`, "form"],
    ["a space before the colon", `${ok}content-length : 0\r\n\r\n`, "form"],
    ["a space within a name", `${ok}en content-type: a\r\n\r\n`, "form"],
    ["no name", `${ok}: a\r\n\r\n`, "form"],
    ["no colon", `${ok}nonsense\r\n\r\n`, "form"],
    ["a name that is not ASCII", `${ok}conté: a\r\n\r\n`, "form"],
    ["a name in quotes", `${ok}"a": b\r\n\r\n`, "form"],
    ["a NUL in a value", `${ok}a: b\0c\r\n\r\n`, "form"],
    ["a control character in a value", `${ok}openai-model: a\x01b\r\n\r\n`, "form"],
    ["DEL in a value", `${ok}a: b\x7f\r\n\r\n`, "form"],
    ["the same length twice", `${ok}content-length: 2\r\nContent-Length: 2\r\n\r\nok`, "more than one"],
    [
      "a length beside chunks",
      `${ok}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      "both a length and a transfer coding",
    ],
    ["an empty transfer coding", `${ok}transfer-encoding:\r\n\r\n`, "transfer coding"],
    ["chunked twice", `${ok}transfer-encoding: chunked, chunked\r\n\r\n`, "transfer coding"],
    ["an identity coding", `${ok}transfer-encoding: identity\r\n\r\n`, "transfer coding"],
    ["a coding with a vertical tab", `${ok}transfer-encoding: \x0bchunked\r\n\r\n`, "form"],
    ["a coding where there is no body", "HTTP/1.1 204 No\r\ntransfer-encoding: x\r\n\r\n", "transfer coding"],
    ["a wrong length where there is no body", "HTTP/1.1 304 No\r\ncontent-length: x\r\n\r\n", "a number"],
    ["a malformed interim answer", `HTTP/1.1 103 Hints\r\na : b\r\n\r\n${ok}\r\n`, "form"],
    ["an interim answer of HTTP/1.0", `HTTP/1.0 103 Hints\r\n\r\n${ok}\r\n`, "interim"],
    ["an interim answer that closes", `HTTP/1.1 103 Hints\r\nconnection: close\r\n\r\n${ok}\r\n`, "interim"],
    ["too many interim answers", "HTTP/1.1 103 Hints\r\n\r\n".repeat(17), "too many interim"],
    ["a broken chunk", `${ok}transfer-encoding: chunked\r\n\r\nnonsense\r\n`, "chunk"],
  ] as const) {
    test(what, () => {
      const bytes = Buffer.from(text);
      expect(() => readPieces([Buffer.from(bytes)])).toThrow(problem);
      for (const pieces of everyCut(bytes)) expect(() => readPieces(pieces)).toThrow(problem);
      expect(() => readPieces(byteByByte(bytes))).toThrow(expect.objectContaining({ code: "EPROTO" }));
    });
  }

  test("before its end has arrived, which may never happen", () => {
    for (const beginning of ["S", "HTTP/2", "HTTP/1.1 200 OK\na", "HTTP/1.1 200 OK\r\na: b\rc", "\r\n"]) {
      expect(() => read(beginning)).toThrow("not valid HTTP");
    }
  });

  test("a head over 64 KiB, whether it comes at once or bit by bit, ended or not", () => {
    const head = Buffer.from(`${ok}x-long: ${"x".repeat(64 * 1024)}\r\ncontent-length: 0\r\n\r\n`);
    const random = seededRandom(1);
    expect(() => readPieces([Buffer.from(head)])).toThrow("too long");
    expect(() => readPieces([Buffer.from(head.subarray(0, -4))])).toThrow("too long");
    for (let run = 0; run < 10; run++) expect(() => readPieces(randomCuts(head, random))).toThrow("too long");
  });

  test("a head of just below 64 KiB is accepted", () => {
    const text = `${ok}x-long: ${"x".repeat(64_000)}\r\ncontent-length: 2\r\n\r\nok`;
    expect(read(text)).toMatchObject({ ...proper, body: "ok" });
  });
});
