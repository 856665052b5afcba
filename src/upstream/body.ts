/** A whole answer larger than this is no text that a model wrote. */
const mostBytes = 64 * 1024 * 1024;

/**
 * A body that says its length is read in one go; one that does not is watched while it grows. Null when it
 * is too large.
 */
export function readWhole(response: Response): Promise<Uint8Array | null> {
  const length = response.headers.get("content-length");
  if (length === null) return readGrowing(response);
  return Number(length) <= mostBytes ? response.bytes() : Promise.resolve(null);
}

async function readGrowing(response: Response): Promise<Uint8Array | null> {
  const pieces: Uint8Array[] = [];
  let total = 0;
  for (const reader = response.body?.getReader(); reader !== undefined; ) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.length;
    if (total > mostBytes) return null;
    pieces.push(value);
  }
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

/** The beginning of an error's body. It is for people: if it breaks off, what has come is enough. */
export async function readAtMost(response: Response, limitBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let total = 0;
  try {
    for (const reader = response.body?.getReader(); reader !== undefined && total < limitBytes; ) {
      const { done, value } = await reader.read();
      if (done) break;
      total += value.length;
      pieces.push(value);
    }
  } catch {
    // The status is known, and it is what decides.
  }
  return Buffer.concat(pieces).toString("utf8", 0, Math.min(total, limitBytes));
}
