/** The text of a response that ends within the limit; `tooLong` says what is wrong with a longer one. */
export async function limitedText(
  response: Response,
  maxBytes: number,
  tooLong: () => Error,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLong();
    pieces.push(piece);
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}
