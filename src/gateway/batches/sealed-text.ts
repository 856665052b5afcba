import { decryptText, encryptText } from "../../base/secrets/encrypt.ts";

/** The first byte of an encrypted text. */
const version = 1;

/** A client's short text, encrypted like bodies. It can only be read in the place that `place` names. */
export function sealText(text: string, place: string, key: Uint8Array | null): string {
  return key === null ? text : encryptText(Buffer.from(text), { key, context: place, version });
}

/** Text that was stored without a key is returned as it is. */
export function openText(stored: string, place: string, key: Uint8Array | null): string {
  const opened = key && decryptText(stored, { key, context: place, version });
  return opened === null ? stored : Buffer.from(opened).toString();
}

/** Where the client's name of a line is stored. */
export function placeOfCustomId(batchId: string, no: number): string {
  return `${batchId} ${no} custom_id`;
}

/** Where the client's name of a file is stored. */
export function placeOfName(fileId: string): string {
  return `${fileId} name`;
}
