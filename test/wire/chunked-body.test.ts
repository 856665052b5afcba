import { describe, expect, test } from "bun:test";
import { ChunkedBody } from "../../src/wire/chunked-body.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { byteByByte, cutAt, everyCut, randomCuts } from "./cuts.ts";

interface Decoded {
  readonly text: string;
  readonly isOver: boolean;
  readonly surplusBytes: number;
}

function decode(pieces: readonly Uint8Array[], body = new ChunkedBody()): Decoded {
  body.reset();
  let text = "";
  let surplusBytes = 0;
  for (const piece of pieces) {
    text += Buffer.from(body.push(piece)).toString("latin1");
    surplusBytes += body.surplusBytes;
  }
  return { text, isOver: body.isOver, surplusBytes };
}

const wellFormed: readonly (readonly [what: string, coded: string, data: string])[] = [
  ["nothing", "0\r\n\r\n", ""],
  ["one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"],
  ["several chunks", "5\r\nhello\r\n1\r\n \r\n6\r\nworld!\r\n0\r\n\r\n", "hello world!"],
  [
    "sizes in either case and of two digits",
    `1A\r\n${"a".repeat(26)}\r\n1b\r\n${"b".repeat(27)}\r\n0\r\n\r\n`,
    "a".repeat(26) + "b".repeat(27),
  ],
  ["sizes with leading zeros", "00000005\r\nhello\r\n000\r\n\r\n", "hello"],
  ["extensions", '5;a=1;b="x y"\r\nhello\r\n5;c;d="\\"; \\\\"\r\nworld\r\n0;last\r\n\r\n', "helloworld"],
  ["trailers", "5\r\nhello\r\n0\r\nexpires: never\r\nx-sum: 1\r\n\r\n", "hello"],
  ["data that look like chunks", "7\r\n0\r\n\r\n5\r\r\n3\r\n\r\n0\r\n0\r\n\r\n", "0\r\n\r\n5\r\r\n0"],
];

describe("a chunked body", () => {
  for (const [what, coded, data] of wellFormed) {
    const bytes = Buffer.from(coded, "latin1");
    const whole = { text: data, isOver: true, surplusBytes: 0 };

    test(`${what}: in one piece, in two wherever it is cut, and byte by byte`, () => {
      expect(decode([Buffer.from(bytes)])).toEqual(whole);
      for (const pieces of everyCut(bytes)) expect(decode(pieces)).toEqual(whole);
      expect(decode(byteByByte(bytes))).toEqual(whole);
    });

    test(`${what}: is not over one byte before its end`, () => {
      expect(decode([Buffer.from(bytes.subarray(0, -1))]).isOver).toBe(false);
    });
  }

  test("gives one piece per read, within the same memory", () => {
    const body = new ChunkedBody();
    const bytes = Buffer.from("3\r\nabc\r\n3\r\ndef\r\n3\r\ngh");
    const data = body.push(bytes);
    expect(Buffer.from(data).toString()).toBe("abcdefgh");
    expect(data.buffer).toBe(bytes.buffer);
  });

  test("counts surplus bytes, and does not take them for data", () => {
    expect(decode([Buffer.from("1\r\na\r\n0\r\n\r\nHTTP/1.1")])).toEqual({
      text: "a",
      isOver: true,
      surplusBytes: 8,
    });
  });

  test("can be read again after a reset, in whatever state it was left", () => {
    const body = new ChunkedBody();
    for (const left of ["", "5", "5;ext", "5\r\nhe", "5\r\nhello", "0\r\ntrailer", "0\r\n\r\n"]) {
      body.reset();
      body.push(Buffer.from(left));
      expect(decode([Buffer.from("2\r\nok\r\n0\r\n\r\n")], body)).toEqual({
        text: "ok",
        isOver: true,
        surplusBytes: 0,
      });
    }
  });

  test("random bodies, encoded and split at random, are decoded", () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = seededRandom(seed);
      const { coded, data } = randomBody(random);
      const decoded = decode(randomCuts(coded, random));
      expect({ seed, ...decoded }).toEqual({ seed, text: data, isOver: true, surplusBytes: 0 });
    }
  });
});

function randomBody(random: SeededRandom): { coded: Buffer; data: string } {
  let coded = "";
  let data = "";
  for (let chunks = random.below(6); chunks > 0; chunks--) {
    const length = 1 + random.below(random.pick([3, 40, 700]));
    const chunk = Array.from({ length }, () => String.fromCharCode(random.below(256))).join("");
    const size = length.toString(16);
    coded += random.chance(0.5) ? size.toUpperCase() : size;
    coded += random.pick(["", "", ";x", ';name="v a;l\\"ue"']);
    coded += `\r\n${chunk}\r\n`;
    data += chunk;
  }
  coded += `0${random.pick(["", ";end"])}\r\n${random.pick(["", "", "x-sum: 1\r\n"])}\r\n`;
  return { coded: Buffer.from(coded, "latin1"), data };
}

describe("a chunked body that is malformed", () => {
  const malformed: readonly (readonly [what: string, coded: string, problem: string])[] = [
    ["no size", "\r\nhello", "has no size"],
    ["an extension without a size", ";x\r\n", "has no size"],
    ["a size that is none", "xyz\r\n", "has no size"],
    ["a size with something behind it", "5x\r\nhello", "not a number"],
    ["a negative size", "-5\r\nhello", "has no size"],
    ["a size in the way of a programming language", "0x5\r\nhello", "not a number"],
    ["a size beyond what memory holds", "123456789\r\n", "too large"],
    ["more data than it says", "5\r\nhello!\r\n", "longer than its size"],
    ["no line end behind its data", "5\r\nhello0\r\n\r\n", "longer than its size"],
    ["an extension without end", `5;${"x".repeat(5000)}`, "too long"],
    ["an extension without end in one that goes on", `5;x="${"x".repeat(5000)}`, "too long"],
    ["a size with a sign", "+5\r\nhello", "has no size"],
    ["a space before the size", " 5\r\nhello", "has no size"],
    ["a space behind the size", "5 \r\nhello", "not a number"],
    ["a tab behind the size", "5\t;x\r\nhello", "not a number"],
    ["a size of nine digits", "000000005\r\nhello", "too large"],
    ["a size with a NUL", "5\0\r\nhello", "not a number"],
    ["a bare LF behind the size", "5\nhello\r\n", "not a number"],
    ["a bare CR behind the size", "5\rhello\r\n", "CR and LF"],
    ["two CRs behind the size", "5\r\r\nhello\r\n", "CR and LF"],
    ["an extension without a name", "5;\r\nhello", "extension"],
    ["an extension without a value", "5;a=\r\nhello", "extension"],
    ["an extension with a space", "5; a\r\nhello", "extension"],
    ["an extension with an unbalanced quote", '5;a="b\r\nhello', "extension"],
    ["an extension whose last quote is escaped", '5;a="b\\"\r\nhello', "extension"],
    ["an extension with something behind the quotes", '5;a="b"c\r\nhello', "extension"],
    ["an extension with a bare LF", "5;a\nhello", "extension"],
    ["an extension with a bare CR", "5;a\rb\r\nhello", "CR and LF"],
    ["an extension with a control character", "5;a=\x01\r\nhello", "extension"],
    ["a bare LF behind its data", "5\r\nhello\n0\r\n\r\n", "longer than its size"],
    ["a bare CR behind its data", "5\r\nhello\r0\r\n\r\n", "longer than its size"],
    ["two CRs behind its data", "5\r\nhello\r\r\n0\r\n\r\n", "longer than its size"],
    ["a trailer without end", `0\r\n${"x".repeat(9000)}`, "too long"],
    ["a trailer of many lines", `0\r\n${"a: b\r\n".repeat(65)}\r\n`, "too many lines"],
    ["a trailer of too many bytes", `0\r\n${`a: ${"b".repeat(200)}\r\n`.repeat(60)}\r\n`, "too long"],
    ["a trailer that is no header", "0\r\nnonsense\r\n\r\n", "trailer"],
    ["a trailer with a space before its colon", "0\r\nx-sum : 1\r\n\r\n", "trailer"],
    ["a trailer without a name", "0\r\n: 1\r\n\r\n", "trailer"],
    ["a trailer that is folded", "0\r\nx-sum: 1\r\n 2\r\n\r\n", "trailer"],
    ["a trailer with a control character", "0\r\nx-sum: \x01\r\n\r\n", "trailer"],
    ["a trailer with a bare LF", "0\r\nx-sum: 1\n\r\n", "trailer"],
    ["a trailer with a bare CR", "0\r\nx-sum: 1\rx: 2\r\n\r\n", "trailer"],
    ["a bare LF instead of a trailer", "0\r\n\n", "trailer"],
    ["a trailer that tells a length", "0\r\nContent-Length: 1\r\n\r\n", "trailer has a length"],
    ["a trailer that tells a coding", "0\r\ntransfer-encoding: chunked\r\n\r\n", "trailer has a length"],
  ];
  for (const [what, coded, problem] of malformed) {
    test(`${what} is refused, wherever it is cut`, () => {
      const bytes = Buffer.from(coded);
      expect(() => decode([Buffer.from(bytes)])).toThrow(problem);
      for (let at = 0; at < Math.min(20, bytes.length); at++) {
        expect(() => decode(cutAt(bytes, [at]))).toThrow(problem);
      }
    });
  }

  test("the error has a code, like those of the operating system", () => {
    expect(() => decode([Buffer.from("x")])).toThrow(expect.objectContaining({ code: "EPROTO" }));
  });
});
