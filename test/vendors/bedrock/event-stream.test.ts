import { describe, expect, test } from "bun:test";
import { EventStreamDecoder, readHeaders } from "../../../src/vendors/bedrock/event-stream.ts";
import { encodeEvent, encodeException } from "./encode-message.ts";

interface Decoded {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
}

/** Decodes pieces, and says whether the stream could have ended after them. */
function decode(pieces: readonly Uint8Array[]): { messages: Decoded[]; isComplete: boolean } {
  const messages: Decoded[] = [];
  const decoder = new EventStreamDecoder((bytes, headersStart, payloadStart, payloadEnd) =>
    messages.push({
      headers: Object.fromEntries(readHeaders(bytes.slice(headersStart, payloadStart))),
      payload: new TextDecoder().decode(bytes.subarray(payloadStart, payloadEnd)),
    }),
  );
  for (const piece of pieces) decoder.push(piece);
  return { messages, isComplete: decoder.isBetweenMessages };
}

const vectors = {
  "all kinds of headers": {
    hex:
      "000000cc000000af0fae64ca0a6576656e742d74797065040000a00c0c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e" +
      "0a626f6f6c2066616c73650109626f6f6c207472756500046279746502cf08627974652062756606001449276d2061206c6974746c6520746561706f74" +
      "210974696d657374616d70080000000000845fed05696e74313603002a05696e7436340500000000028757b20475756964090102030405060708090a0b" +
      "0c0d0e0f107b27666f6f273a27626172277daba5f10c",
    message: { headers: { "content-type": "application/json" }, payload: "{'foo':'bar'}" },
  },
  "an empty message": { hex: "000000100000000005c248eb7d98c8ff", message: { headers: {}, payload: "" } },
  "a number as a header": {
    hex: "0000002d0000001041c424b80a6576656e742d74797065040000a00c7b27666f6f273a27626172277d36f480a0",
    message: { headers: {}, payload: "{'foo':'bar'}" },
  },
  "no headers": {
    hex: "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936",
    message: { headers: {}, payload: "{'foo':'bar'}" },
  },
  "one text as a header": {
    hex: "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1",
    message: { headers: { "content-type": "application/json" }, payload: "{'foo':'bar'}" },
  },
  "B17: an event of Bedrock": {
    hex:
      "0000007a00000051ca2c46650b3a6576656e742d7479706507000b6d65737361676553746f700d3a636f6e74656e742d747970650700106170706c6963" +
      "6174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b2273746f70526561736f6e223a22656e645f7475726e227d5fbf09fc",
    message: {
      headers: {
        ":event-type": "messageStop",
        ":content-type": "application/json",
        ":message-type": "event",
      },
      payload: '{"stopReason":"end_turn"}',
    },
  },
} as const;

describe("Amazon's own vectors (T11)", () => {
  for (const [name, { hex, message }] of Object.entries(vectors)) {
    test(name, () => {
      expect(decode([Buffer.from(hex, "hex")])).toEqual({ messages: [message], isComplete: true });
    });
  }

  const damaged = {
    "a wrong length of the headers":
      "0000003d0000002107fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1",
    "damaged headers":
      "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b61666f6f273a27626172277d8d9c08b1",
    "a wrong length":
      "0000003e0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1",
    "a damaged payload": "0000001d00000000fd528c5a5b27666f6f273a27626172277dc3653936",
  };
  for (const [name, hex] of Object.entries(damaged)) {
    test(`B12: ${name} is refused`, () => {
      expect(() => decode([Buffer.from(hex, "hex")])).toThrow("The event stream is broken");
    });
  }
});

test("the fake writes the same bytes as Bedrock (B17)", () => {
  const stop = encodeEvent("messageStop", { stopReason: "end_turn" });
  expect(Buffer.from(stop).toString("hex")).toBe(vectors["B17: an event of Bedrock"].hex);
  const busy = encodeException("throttlingException", { message: "Too many tokens" });
  expect(busy).toHaveLength(142);
  expect(Buffer.from(busy).toString("hex")).toEndWith("227dc81b1ec1");
});

test("messages are found wherever the stream is cut (B13)", () => {
  const stream = Buffer.concat([
    encodeEvent("messageStart", { role: "assistant" }),
    encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Grüß Gott" } }),
    encodeEvent("messageStop", { stopReason: "end_turn" }),
  ]);
  const whole = decode([stream]);
  expect(whole.messages).toHaveLength(3);
  for (let cut = 1; cut < stream.length; cut += 1) {
    expect(decode([stream.subarray(0, cut), stream.subarray(cut)])).toEqual(whole);
  }
  expect(decode([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
});

test("a stream may not end within a message (B13)", () => {
  const message = encodeEvent("messageStop", {});
  for (let length = 1; length < message.length; length += 1) {
    expect(decode([message.subarray(0, length)])).toEqual({ messages: [], isComplete: false });
  }
});

describe("a length that cannot be right is refused before anything is waited for (B12)", () => {
  const prelude = (total: number, headers: number) => {
    const bytes = Buffer.alloc(12);
    bytes.writeUInt32BE(total, 0);
    bytes.writeUInt32BE(headers, 4);
    bytes.writeUInt32BE(Bun.hash.crc32(bytes.subarray(0, 8)), 8);
    return bytes;
  };
  const lengths = {
    "15 bytes": [15, 0],
    "more than 8 MiB": [9 * 1024 * 1024, 0],
    "headers beyond the message": [40, 30],
  };
  for (const [name, [total = 0, headers = 0]] of Object.entries(lengths)) {
    test(name, () => expect(() => decode([prelude(total, headers)])).toThrow("The event stream is broken"));
  }

  test("a prelude with a wrong checksum", () => {
    const bytes = prelude(1_000, 10);
    bytes[11] = (bytes[11] ?? 0) ^ 1;
    expect(() => decode([bytes])).toThrow("a prelude with a wrong checksum");
  });
});

test("headers that are cut off or of an unknown type are refused", () => {
  expect(() => readHeaders(Uint8Array.of(1, 65, 7, 0, 9, 66))).toThrow("truncated headers");
  expect(() => readHeaders(Uint8Array.of(1, 65, 7))).toThrow("truncated headers");
  expect(() => readHeaders(Uint8Array.of(1, 65, 10, 0))).toThrow("a header of an unknown type");
});
