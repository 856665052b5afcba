/** How many characters at the start also encode bytes in front of the secret, by the number of these bytes modulo three. */
const sharedChars = [0, 2, 3] as const;

/**
 * How a secret looks inside base64, with both alphabets: base64 encodes three bytes at a time, so that depends on what is in front of
 * it. A character at either end that encodes a neighbor, too, is not part of a form.
 */
export function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const forms = sharedChars.flatMap((shared, before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const form = encoded.slice(shared, Math.floor(((before + bytes.length) * 8) / 6));
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...new Set(forms)];
}
