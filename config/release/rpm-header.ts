/** A value of an rpm header. */
export interface HeaderValue {
  readonly type: number;
  readonly count: number;
  /** Where numbers of this kind may begin: at every 2nd or 4th byte. */
  readonly alignment: number;
  readonly bytes: Uint8Array;
}

/** Says how far a header's contents reach that its checksum covers. */
export const region = { signatures: 62, immutable: 63 } as const;

export function text(value: string): HeaderValue {
  return { type: 6, count: 1, alignment: 1, bytes: Buffer.from(`${value}\0`) };
}

export function localized(value: string): HeaderValue {
  return { ...text(value), type: 9 };
}

export function texts(values: readonly string[]): HeaderValue {
  return { ...text(values.join("\0")), type: 8, count: values.length };
}

export function int16s(values: readonly number[]): HeaderValue {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return { type: 3, count: values.length, alignment: 2, bytes };
}

export function int32s(values: readonly number[]): HeaderValue {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeInt32BE(value | 0, index * 4);
  return { type: 4, count: values.length, alignment: 4, bytes };
}

/** An index of tags, sorted, and behind it their values. The region comes first in the index and last among the values. */
export function header(
  regionTag: number,
  entries: readonly (readonly [tag: number, value: HeaderValue])[],
): Buffer<ArrayBuffer> {
  const sorted = entries.toSorted(([one], [other]) => one - other);
  const values: Uint8Array[] = [];
  let length = 0;
  const index = sorted.map(([tag, { type, count, alignment, bytes }]) => {
    const padding = -length & (alignment - 1);
    values.push(new Uint8Array(padding), bytes);
    length += padding + bytes.length;
    return indexEntry(tag, type, length - bytes.length, count);
  });
  const binary = 7;
  const size = 16;
  values.push(indexEntry(regionTag, binary, -size * (index.length + 1), size));
  const start = Buffer.from([0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0]);
  const lengths = int32s([index.length + 1, length + size]).bytes;
  return Buffer.concat([start, lengths, indexEntry(regionTag, binary, length, size), ...index, ...values]);
}

function indexEntry(
  ...fields: readonly [tag: number, type: number, offset: number, count: number]
): Uint8Array {
  return int32s(fields).bytes;
}
