import { hash } from "bun";

/** A message of Amazon's event stream, for the fake of Bedrock; the vendor's own client proves that it is right. */
export function encodeMessage(
  headers: Readonly<Record<string, string>>,
  payload: string | Uint8Array,
): Uint8Array {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => encodeHeader(name, value)));
  const body = Buffer.from(payload);
  const message = Buffer.alloc(16 + head.length + body.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(head.length, 4);
  message.writeUInt32BE(hash.crc32(message.subarray(0, 8)), 8);
  message.set(head, 12);
  message.set(body, 12 + head.length);
  message.writeUInt32BE(hash.crc32(message.subarray(0, message.length - 4)), message.length - 4);
  return message;
}

/** As Bedrock names its events. */
export function encodeEvent(type: string, payload: unknown): Uint8Array {
  return encodeMessage(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    JSON.stringify(payload),
  );
}

/** An event of Messages, as InvokeModel sends it. */
export function encodeChunk(event: unknown): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(event)).toString("base64");
  return encodeEvent("chunk", { bytes, p: "abcdefghij" });
}

export function encodeException(type: string, payload: unknown): Uint8Array {
  return encodeMessage(
    { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" },
    JSON.stringify(payload),
  );
}

const textType = 7;

function encodeHeader(name: string, value: string): Uint8Array {
  const encodedName = Buffer.from(name);
  const encodedValue = Buffer.from(value);
  const header = Buffer.alloc(4 + encodedName.length + encodedValue.length);
  header.writeUInt8(encodedName.length, 0);
  header.set(encodedName, 1);
  header.writeUInt8(textType, 1 + encodedName.length);
  header.writeUInt16BE(encodedValue.length, 2 + encodedName.length);
  header.set(encodedValue, 4 + encodedName.length);
  return header;
}
