/**
 * Reads OTLP traces as protobuf into the shape that OTLP's JSON has, by the field numbers in
 * https://github.com/open-telemetry/opentelemetry-proto. Written apart from the library that encodes them.
 */
type Field = number | bigint | Buffer;
type Message = ReadonlyMap<number, readonly Field[]>;

function messageIn(bytes: Buffer): Message {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) throw new Error("The message ends inside a number.");
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const values = fields.getOrInsertComputed(tag >>> 3, () => []);
    switch (tag & 7) {
      case 0:
        values.push(varint());
        break;
      case 1:
        values.push(bytes.readBigUInt64LE(at));
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
        if (at + length > bytes.length) throw new Error("The message ends inside a field.");
        values.push(bytes.subarray(at, at + length));
        at += length;
        break;
      }
      case 5:
        values.push(bytes.readUInt32LE(at));
        at += 4;
        break;
      default:
        throw new Error(`Wire type ${tag & 7} is not used.`);
    }
  }
  return fields;
}

const all = (message: Message, no: number) =>
  (message.get(no) ?? []).filter((value) => Buffer.isBuffer(value)) as Buffer[];
const bytesAt = (message: Message, no: number) => all(message, no)[0] ?? Buffer.alloc(0);
const textAt = (message: Message, no: number) => bytesAt(message, no).toString();
const numberAt = (message: Message, no: number) => Number(message.get(no)?.[0] ?? 0);
const nested = (message: Message, no: number) => all(message, no).map(messageIn);

function attributeValue(message: Message): Record<string, unknown> {
  if (message.has(1)) return { stringValue: textAt(message, 1) };
  if (message.has(2)) return { boolValue: numberAt(message, 2) === 1 };
  if (message.has(3)) return { intValue: Number(BigInt.asIntN(64, BigInt(numberAt(message, 3)))) };
  if (message.has(4)) {
    const bits = Buffer.alloc(8);
    bits.writeBigUInt64LE(BigInt(message.get(4)?.[0] as bigint));
    return { doubleValue: bits.readDoubleLE() };
  }
  if (message.has(5))
    return { arrayValue: { values: nested(messageIn(bytesAt(message, 5)), 1).map(attributeValue) } };
  throw new Error("The value has a type that no attribute has.");
}

function attributesIn(message: Message, no: number) {
  return nested(message, no).map((pair) => ({
    key: textAt(pair, 1),
    value: attributeValue(messageIn(bytesAt(pair, 2))),
  }));
}

function spanOf(message: Message) {
  const parent = bytesAt(message, 4).toString("hex");
  return {
    traceId: bytesAt(message, 1).toString("hex"),
    spanId: bytesAt(message, 2).toString("hex"),
    ...(parent === "" ? {} : { parentSpanId: parent }),
    name: textAt(message, 5),
    kind: numberAt(message, 6),
    startTimeUnixNano: String(message.get(7)?.[0]),
    endTimeUnixNano: String(message.get(8)?.[0]),
    attributes: attributesIn(message, 9),
    status: { code: numberAt(messageIn(bytesAt(message, 15)), 3) },
  };
}

export function readTraces(body: Uint8Array) {
  const resourceSpans = nested(messageIn(Buffer.from(body)), 1).map((resource) => ({
    scopeSpans: nested(resource, 2).map((scope) => ({ spans: nested(scope, 2).map(spanOf) })),
  }));
  return { resourceSpans };
}
