import type { PlaygroundView } from "../../../admin/playground/schema.ts";
import { api } from "../api.ts";

/** The source of a request's charge: a key or an account that an admin chooses, or the key whose secret was pasted. */
export interface Payer {
  readonly kind: "key" | "account" | "secret";
  /** Its id, or the secret. */
  readonly name: string;
}

/** The rest of a request's hour that is too short to begin with. */
const marginMs = 120_000;

let issued: (PlaygroundView & { readonly payer: Payer }) | null = null;

/** A secret for the next request. It stays in this tab's memory, and the server's ends after an hour. */
export async function secretFor(payer: Payer): Promise<string> {
  const { kind, name } = payer;
  if (kind === "secret") return name;
  const isSame = issued?.payer.kind === kind && issued.payer.name === name;
  const isFresh = issued !== null && Date.parse(issued.expires_at) > Date.now() + marginMs;
  if (issued === null || !isSame || !isFresh) {
    issued = { ...(await api.post<PlaygroundView>("/playground/keys", { [kind]: name })), payer };
  }
  return issued.key;
}

/** The next request gets another secret, because the server does not know this one any more. */
export function forgetSecret(): void {
  issued = null;
}
