const headerBytes = 8;
export const longHeaderBytes = 16;
/** Limits how many boxes are read before the tables, and within them. */
export const maxBoxes = 1000;

export interface Box {
  readonly type: string;
  readonly content: Buffer;
}

/** Reads a box; its content ends where the bytes end. */
export function boxAt(bytes: Buffer, at: number): (Box & { readonly length: number }) | null {
  if (at + headerBytes > bytes.length) return null;
  const size = bytes.readUInt32BE(at);
  const isLong = size === 1 && at + longHeaderBytes <= bytes.length;
  const length = isLong ? Number(bytes.readBigUInt64BE(at + headerBytes)) : size;
  const header = isLong ? longHeaderBytes : headerBytes;
  if (length < header) return null;
  return {
    type: bytes.toString("latin1", at + 4, at + headerBytes),
    content: bytes.subarray(at + header, at + length),
    length,
  };
}

export function boxesIn(bytes: Buffer): readonly Box[] {
  const boxes: Box[] = [];
  for (let at = 0; boxes.length < maxBoxes; ) {
    const box = boxAt(bytes, at);
    if (box === null) break;
    boxes.push(box);
    at += box.length;
  }
  return boxes;
}

export function boxIn(bytes: Buffer, ...path: readonly string[]): Buffer | null {
  let found: Buffer | null = bytes;
  for (const type of path)
    found = found && (boxesIn(found).find((box) => box.type === type)?.content ?? null);
  return found;
}
