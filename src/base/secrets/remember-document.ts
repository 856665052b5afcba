import { type Json, tryParse } from "../json.ts";
import { rememberAccountName, rememberSecret } from "./secrets.ts";

/** Members of key files that name the account, and members that are public. */
const accountNames = /^(project_id|quota_project_id|client_email|client_id)$/;
const publicNames =
  /^(type|universe_domain|auth_uri|token_uri|subject_token_type|subject_token_field_name|environment_id|file|url|\w+_url)$/;

/** The widths at which tools wrap a private key (RFC 7468 and RFC 2045). */
const lineWidths = [64, 76] as const;

/** Remembers each secret part of a key file that a cloud issued, since a text may quote any of them. */
export function rememberDocument(text: string): void {
  rememberSecret(text);
  rememberMembers("", tryParse(text) ?? null);
}

function rememberMembers(name: string, value: Json): void {
  if (publicNames.test(name)) return;
  if (typeof value === "string") {
    if (accountNames.test(name)) rememberAccountName(value);
    else rememberMember(value);
  } else if (typeof value === "object" && value !== null) {
    for (const [inner, item] of Object.entries(value)) rememberMembers(inner, item ?? null);
  }
}

function rememberMember(text: string): void {
  rememberSecret(text.trim());
  if (text.includes("-----BEGIN ")) for (const piece of keyPieces(text)) rememberSecret(piece);
}

/**
 * The content of a private key in every form that it is quoted in: its line ends may be line feeds, `\n` as two characters, blanks or
 * nothing, and its lines may be as in the file or wrapped again. What is around the content is the same in all keys.
 */
function keyPieces(pem: string): readonly string[] {
  const lines = pem
    .replace(/-----[^-]+-----/g, "")
    .replaceAll(/\\+[nr]/g, "\n")
    .split(/\s+/);
  const content = lines.join("");
  const wrapped = lineWidths.flatMap((width) => content.match(new RegExp(`.{1,${width}}`, "g")) ?? []);
  return [content, ...lines, ...wrapped];
}
