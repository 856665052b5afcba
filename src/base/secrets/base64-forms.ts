/** How many characters at the start also encode bytes in front of the secret, by the number of these bytes modulo three. */
const sharedChars = [0, 2, 3] as const;

/**
 * The forms of a secret within base64, in both alphabets: base64 encodes three bytes at a time, so they depend on the
 * bytes before it. A character at either end that also encodes a neighbor is not part of a form.
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
