import { call } from "../connect/device-login.ts";
import { baseUrl } from "../connect/find-connection.ts";
import { CommandError, printDone, printJson, type Terminal } from "../terminal/terminal.ts";
import { readSignIn, removeSignIn, type SavedSignIn, withLock, writeSignIn } from "./saved-sign-in.ts";
import { tokensIn } from "./tokens-in.ts";

const refreshBeforeMs = 5 * 60_000;

/** Prints an access token, and nothing else, because programs take the whole output for it. */
export async function printToken(
  address: string,
  { json }: { readonly json?: true },
  terminal: Terminal,
): Promise<void> {
  const url = baseUrl(address);
  const saved = readSignIn(url, terminal.env);
  if (saved === null)
    throw new CommandError(`this machine is not signed in; run sluice login ${url} --sign-in`);
  const fresh = isFresh(saved) ? saved : await withLock(url, terminal.env, () => refresh(url, terminal));
  if (!json) return terminal.print(fresh.access);
  printJson({ token: fresh.access, ends_at: new Date(fresh.accessEndsAtMs).toISOString() }, terminal);
}

function isFresh({ accessEndsAtMs }: SavedSignIn): boolean {
  return accessEndsAtMs - Date.now() >= refreshBeforeMs;
}

/** Another process may have refreshed while this one waited for the lock. */
async function refresh(url: string, { env }: Terminal): Promise<SavedSignIn> {
  const saved = readSignIn(url, env);
  if (saved === null)
    throw new CommandError(`this machine was signed out; run sluice login ${url} --sign-in`);
  if (isFresh(saved)) return saved;
  const form = { grant_type: "refresh_token", refresh_token: saved.refresh };
  const answer = await call(saved.token, form).catch(() => null);
  if (answer?.isGateways && answer.body["error"] === "invalid_grant") {
    removeSignIn(url, env);
    throw new CommandError(`the sign-in at ${url} has ended; run sluice login ${url} --sign-in`);
  }
  const tokens = answer?.status === 200 ? tokensIn(answer.body, Date.now()) : null;
  if (tokens !== null) {
    const refreshed = { ...saved, ...tokens };
    writeSignIn(refreshed, env);
    return refreshed;
  }
  if (saved.accessEndsAtMs > Date.now()) return saved;
  throw new CommandError(
    `${url} could not refresh the token; try again, or run sluice login ${url} --sign-in`,
  );
}

/** Ends the sign-in at the gateway too, so that no copy of its tokens works. */
export async function signOut(address: string, { json }: { readonly json?: true }, terminal: Terminal) {
  const url = baseUrl(address);
  const saved = readSignIn(url, terminal.env);
  if (saved === null)
    throw new CommandError(`this machine is not signed in to ${url}; sluice login signs in`);
  const { revocation } = saved;
  const form = { token: saved.refresh, token_type_hint: "refresh_token" };
  const answer = revocation === null ? null : await call(revocation, form).catch(() => null);
  removeSignIn(url, terminal.env);
  if (answer?.status !== 200) {
    throw new CommandError(
      `${url} did not confirm; the tokens were deleted here, and an admin can end the sign-in with sluice sign-ins revoke`,
    );
  }
  printDone(json, { url, signed_in: false }, `Signed out of ${url}.`, terminal);
}
