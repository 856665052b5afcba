/**
 * The cases of llhttp's tests for responses (github.com/nodejs/llhttp, test/response), in our own words and bytes, with
 * what we expect. Its lenient modes do not exist here, so their cases are as strict as the others.
 */

export type Expected =
  /** The answer is whole; `spoilt` when the connection serves no other request. */
  | { readonly body: string; readonly status?: number; readonly spoilt?: true }
  /** The answer ends with the connection. */
  | { readonly untilClose: string; readonly status?: number }
  /** The answer is incomplete. */
  | "incomplete"
  | "refused";

export interface Case {
  readonly what: string;
  readonly answer: string;
  readonly expected: Expected;
  /** Why we differ from llhttp, or why the case does not apply. */
  readonly why?: string;
}

const lines = (...all: readonly string[]) => all.map((line) => `${line}\r\n`).join("");
const ok = "HTTP/1.1 200 OK";
const chunked = "Transfer-Encoding: chunked";
const twoChunks = lines("2", "bo", "2", "dy", "0", "");

const connection: readonly Case[] = [
  {
    what: "Proxy-Connection is no Connection",
    answer: `${lines(ok, "Content-Length: 5", "Proxy-Connection: close", "")}hello`,
    expected: { body: "hello" },
  },
  {
    what: "HTTP/1.0 with keep-alive and no length lasts until the end",
    answer: lines("HTTP/1.0 200 OK", "Connection: keep-alive", "", "HTTP/1.0 200 OK"),
    expected: { untilClose: "HTTP/1.0 200 OK\r\n" },
  },
  {
    what: "HTTP/1.0 with keep-alive and 204",
    answer: lines("HTTP/1.0 204 No content", "Connection: keep-alive", "", "HTTP/1.0 200 OK"),
    expected: { body: "", status: 204, spoilt: true },
  },
  {
    what: "HTTP/1.1 without a length lasts until the end",
    answer: lines(ok, "", ok),
    expected: { untilClose: `${ok}\r\n` },
  },
  {
    what: "HTTP/1.1 with 204, and another answer behind it",
    answer: lines("HTTP/1.1 204 No content", "", ok),
    expected: { body: "", status: 204, spoilt: true },
  },
  {
    what: "204 and close, and another answer behind it",
    answer: lines("HTTP/1.1 204 No content", "Connection: close", "", ok),
    expected: { body: "", status: 204, spoilt: true },
    why: "the answer is whole; what follows is dropped with the connection instead of failing it",
  },
  {
    what: "a length and close, and more than the length",
    answer: `${lines(ok, "Content-Length: 5", "Connection: close", "")}hello-and-more`,
    expected: { body: "hello", spoilt: true },
    why: "the answer is whole; what follows is dropped with the connection instead of failing it",
  },
  {
    what: "101 with a length",
    answer: `${lines("HTTP/1.1 101 Switching", "Connection: upgrade", "Upgrade: h2c", "Content-Length: 4", "")}body`,
    expected: "refused",
    why: "nobody asks for another protocol here",
  },
  {
    what: "101 in chunks",
    answer: `${lines("HTTP/1.1 101 Switching", "Connection: upgrade", "Upgrade: h2c", chunked, "")}${twoChunks}`,
    expected: "refused",
    why: "nobody asks for another protocol here",
  },
  {
    what: "200 with Upgrade",
    answer: `${lines(ok, "Connection: upgrade", "Upgrade: h2c", "")}body`,
    expected: { untilClose: "body" },
  },
  {
    what: "200 with Upgrade and a length",
    answer: `${lines(ok, "Connection: upgrade", "Upgrade: h2c", "Content-Length: 4", "")}body`,
    expected: { body: "body" },
  },
  {
    what: "200 with Upgrade and chunks",
    answer: `${lines(ok, "Connection: upgrade", "Upgrade: h2c", chunked, "")}${twoChunks}`,
    expected: { body: "body" },
  },
  {
    what: "304 with a length, and another answer behind it",
    answer: `${lines("HTTP/1.1 304 Not Modified", "Content-Length: 10", "", ok, "Content-Length: 5", "")}hello`,
    expected: { body: "", status: 304, spoilt: true },
  },
  {
    what: "304 with a transfer coding, and another answer behind it",
    answer: `${lines("HTTP/1.1 304 Not Modified", chunked, "", ok, chunked, "")}${twoChunks}`,
    expected: { body: "", status: 304, spoilt: true },
  },
  {
    what: "100 first, then 404",
    answer: `${lines("HTTP/1.1 100 Continue", "", "HTTP/1.1 404 Not Found", "Content-Length: 4", "")}none`,
    expected: { body: "none", status: 404 },
  },
  {
    what: "103 first, then 200",
    answer: `${lines("HTTP/1.1 103 Early Hints", "Link: </a.css>; rel=preload", "", ok, "Content-Length: 4", "")}body`,
    expected: { body: "body" },
  },
];

const lengths: readonly Case[] = [
  {
    what: "no length, and close",
    answer: `${lines(ok, "Content-Type: text/xml", "Connection: close", "")}<a>\n</a>`,
    expected: { untilClose: "<a>\n</a>" },
  },
  {
    what: "Content-Length-X is no Content-Length",
    answer: `${lines(ok, "Content-Length-X: 0", chunked, "")}${lines("2", "OK", "0", "")}`,
    expected: { body: "OK" },
  },
  {
    what: "a length without its body, as HEAD is answered",
    answer: lines(ok, "Content-Length: 123", "", ok, "Content-Length: 456", ""),
    expected: "incomplete",
    why: "nobody asks with HEAD here, so the body has to come",
  },
  { what: "tabs around a length", answer: lines(ok, "Content-Length:\t42\t", ""), expected: "incomplete" },
  { what: "an end right behind the head", answer: lines(ok, ""), expected: { untilClose: "" } },
];

const invalid: readonly Case[] = [
  { what: "half of the protocol's name", answer: lines("HTP/1.1 200 OK", ""), expected: "refused" },
  { what: "a major version with a zero", answer: lines("HTTP/01.1 200 OK", ""), expected: "refused" },
  { what: "a major version of two digits", answer: lines("HTTP/11.1 200 OK", ""), expected: "refused" },
  { what: "a minor version of two digits", answer: lines("HTTP/1.01 200 OK", ""), expected: "refused" },
  { what: "a tab behind the version", answer: lines("HTTP/1.1\t200 OK", ""), expected: "refused" },
  { what: "a CR first, and that tab", answer: lines("\rHTTP/1.1\t200 OK", ""), expected: "refused" },
  { what: "headers separated by CR", answer: lines(ok, "Foo: 1\rBar: 2", ""), expected: "refused" },
  {
    what: "a bare CR behind the status line",
    answer: lines(`${ok}\rContent-Length: 0`, ""),
    expected: "refused",
  },
  {
    what: "two CRs behind it",
    answer: `${lines(`${ok}\r\rContent-Length: 4`, "")}Evil`,
    expected: "refused",
  },
  { what: "a version that does not exist", answer: lines("HTTP/5.6 200 OK", ""), expected: "refused" },
  { what: "a space before the first header", answer: lines(ok, " Host: foo", ""), expected: "refused" },
  { what: "two spaces before the status", answer: lines("HTTP/1.1  200 OK", ""), expected: "refused" },
  {
    what: "two spaces behind the status",
    answer: lines("HTTP/1.1 200  OK", ""),
    expected: { untilClose: "" },
  },
  { what: "a status of one digit", answer: lines("HTTP/1.1 2 OK", ""), expected: "refused" },
  { what: "only LFs", answer: `${ok}\nContent-Length: 0\n\n`, expected: "refused" },
  { what: "only LFs, and a body", answer: `${ok}\nFoo: abc\nBar: def\n\nBODY\n`, expected: "refused" },
];

const samples: readonly Case[] = [
  {
    what: "a simple one",
    answer: lines(ok, "Header1: Value1", "Header2:\t Value2", "Content-Length: 0", ""),
    expected: { body: "" },
  },
  {
    what: "RTSP",
    answer: lines("RTSP/1.1 200 OK", ""),
    expected: "refused",
    why: "only HTTP is spoken here",
  },
  { what: "ICE", answer: lines("ICE/1.1 200 OK", ""), expected: "refused", why: "only HTTP is spoken here" },
  { what: "a longer name than HTTP", answer: lines("HTTPER/1.1 200 OK", ""), expected: "refused" },
  {
    what: "a dollar in a name, and spaces around a length",
    answer: `${lines("HTTP/1.1 301 Moved", "X-$Version: 1.6", "Content-Length:  4  ", "")}here`,
    expected: { body: "here", status: 301 },
  },
  {
    what: "quotes and spaces in a value, and a chunk of a line end",
    answer: `${lines("HTTP/1.1 301 Moved", 'p3p: policy="x",CP="A B C "', chunked, "")}1\r\n\n\r\n0\r\n\r\n`,
    expected: { body: "\n", status: 301 },
  },
  {
    what: "neither headers nor body",
    answer: lines("HTTP/1.1 404 Not Found", ""),
    expected: { untilClose: "", status: 404 },
  },
  { what: "no reason", answer: lines("HTTP/1.1 301", ""), expected: { untilClose: "", status: 301 } },
  { what: "an empty reason", answer: lines("HTTP/1.1 200 ", ""), expected: { untilClose: "" } },
  { what: "no CRs", answer: `${ok}\nConnection: close\n\nhello`, expected: "refused" },
  {
    what: "an underscore in a name",
    answer: lines(ok, "Content-Length: 0", "A_b: v7;x;~c=o", ""),
    expected: { body: "" },
  },
  {
    what: "an empty value is not merged with the next header",
    answer: lines("HTTP/1.0 301 Moved", "Pragma: ", "Location: /x", "Content-Length: 0", ""),
    expected: { body: "", status: 301, spoilt: true },
  },
  {
    what: "strange names",
    answer: `${lines(ok, ".et-Cookie: a=1; path=/", "_eep-Alive: timeout=45", chunked, "Connection: close", "")}0\r\n\r\n`,
    expected: { body: "", spoilt: true },
  },
  {
    what: "a space in a name",
    answer: `${lines(ok, "en-US Content-Type: text/xml", "Content-Length: 2", "")}ok`,
    expected: "refused",
  },
  {
    what: "a reason that is not ASCII",
    answer: lines("HTTP/1.1 500 Oriëntatie", "Content-Length: 0", "Connection: close", ""),
    expected: { body: "", status: 500, spoilt: true },
  },
  {
    what: "HTTP/0.9",
    answer: lines("HTTP/0.9 200 OK", ""),
    expected: "refused",
    why: "it has no status line at all",
  },
  {
    what: "neither length nor coding",
    answer: `${lines(ok, "A: b", "")}hello`,
    expected: { untilClose: "hello" },
  },
  {
    what: "a line end first",
    answer: lines("", ok, "Content-Length: 0", ""),
    expected: "refused",
    why: "what comes before an answer is part of none",
  },
  {
    what: "three answers in a row",
    answer: `${lines(ok, "Content-Length: 3", "")}AAA${lines(ok, "Content-Length: 4", "")}BBBB`,
    expected: { body: "AAA", spoilt: true },
    why: "one request has one answer here",
  },
  {
    what: "a length, in whatever pieces",
    answer: `${lines(ok, "Content-Length: 3", "")}abc`,
    expected: { body: "abc" },
  },
  {
    what: "a chunk, in whatever pieces",
    answer: `${lines(ok, chunked, "", "a", "0123456789", "0", "")}`,
    expected: { body: "0123456789" },
  },
  {
    what: "a chunk with an extension, in whatever pieces",
    answer: `${lines(ok, chunked, "", "a;foo=bar", "0123456789", "0", "")}`,
    expected: { body: "0123456789" },
  },
];

const codings: readonly Case[] = [
  {
    what: "spaces behind a chunk's size",
    answer: lines(ok, chunked, "", "5  ", "hello", "0  ", ""),
    expected: "refused",
  },
  {
    what: "chunked before another coding",
    answer: `${lines(ok, "Transfer-Encoding: chunked, deflate", "")}World`,
    expected: "refused",
    why: "nobody asked for a coding that would have to be undone",
  },
  {
    what: "chunked and another coding in another line",
    answer: `${lines(ok, chunked, "Transfer-Encoding: identity", "")}World`,
    expected: "refused",
    why: "nobody asked for a coding that would have to be undone",
  },
  {
    what: "chunkedchunked",
    answer: lines(ok, "Transfer-Encoding: chunkedchunked", "", "2", "OK", "0", ""),
    expected: "refused",
    why: "nobody asked for a coding that would have to be undone",
  },
  {
    what: "extensions",
    answer: lines(ok, chunked, "", "5;one;two=three", "hello", "6;four;five", " world", "0", ""),
    expected: { body: "hello world" },
  },
  {
    what: "extensions without a semicolon",
    answer: lines(ok, chunked, "", "2 nonsense", "aa", "0 rrrr", ""),
    expected: "refused",
  },
  {
    what: "nothing behind a semicolon",
    answer: lines(ok, chunked, "", "2;", "aa", "0", ""),
    expected: "refused",
  },
  {
    what: "extensions in quotes",
    answer: lines(ok, chunked, "", '5;one="a; b";two="c";three;four=d', "hello", "6;five", " world", "0", ""),
    expected: { body: "hello world" },
  },
  {
    what: "quotes that do not end",
    answer: lines(ok, chunked, "", '5;one="abc";two="def; ghi', "hello", "0", ""),
    expected: "refused",
  },
  {
    what: "chunked, and a folded line",
    answer: lines(ok, chunked, "  abc", "", "5", "World", "0", ""),
    expected: "refused",
  },
];

export const llhttpCases = { connection, lengths, invalid, samples, codings };
