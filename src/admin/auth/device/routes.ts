import type { DeviceGrant } from "../../../store/device-records.ts";
import { originInBrowser } from "../../access/origin.ts";
import { AdminError, noSignInHere } from "../../formats/admin-error.ts";
import { type AdminCall, type AdminRoute, get, post } from "../../routes/route.ts";
import { decideGrant, findGrant, isSignInConfigured } from "./device-grants.ts";
import { type DeviceView, deviceBody, deviceQuery, deviceView } from "./schema.ts";

/** Routes with which a signed-in person reviews and approves a terminal's request for a key or a sign-in. */
export const deviceRoutes: readonly AdminRoute[] = [
  get(
    "/device",
    "Show the terminal that is waiting for this code",
    { role: "member", query: deviceQuery, answers: deviceView },
    async (call) => {
      expectAllowed(call);
      return view(call, await findGrant(call.deps, call.caller, call.query.user_code));
    },
  ),
  decision(
    "approve",
    "approved",
    "Approve a terminal's request for a key, or a program's sign-in in your name",
  ),
  decision("deny", "denied", "Deny a terminal a key or a sign-in"),
];

function decision(verb: "approve" | "deny", state: "approved" | "denied", summary: string): AdminRoute {
  return post(
    `/device/${verb}`,
    summary,
    { role: "member", body: deviceBody, answers: deviceView },
    async (call) => {
      expectAllowed(call);
      const grant = await decideGrant(call.deps, call.caller, call.body.user_code, state, ownOrigin(call));
      const names = [grant.client, grant.device].filter((name) => name !== null);
      const detail = [`for ${grant.address}`, ...names].join(", ");
      return {
        answer: view(call, { ...grant, state }),
        change: { action: `device.${verb}`, target: null, detail },
      };
    },
  );
}

/** Throws unless sign-in is configured and this person has guesses left. */
function expectAllowed({ deps, caller }: AdminCall): void {
  if (!isSignInConfigured(deps.settings().admin)) throw noSignInHere();
  const waitSeconds = deps.guard.deviceGuesses.waitSeconds(caller.name);
  if (waitSeconds === 0) return;
  const message = `Too many wrong codes. Try again in ${waitSeconds} s, with the code that your terminal shows.`;
  throw new AdminError(429, "too_many_guesses", message, { headers: { "retry-after": String(waitSeconds) } });
}

function ownOrigin({ deps, request }: AdminCall): string {
  return originInBrowser(request, deps.originOf(request).isFromProxy, deps.settings().admin);
}

function view({ address }: AdminCall, grant: DeviceGrant): DeviceView {
  return {
    user_code: grant.userCode,
    state: grant.state === "used" ? "approved" : grant.state,
    address: grant.address,
    is_own_address: grant.address === address,
    purpose: grant.purpose,
    client: grant.client,
    device: grant.device,
    requested_at: new Date(grant.createdAtMs).toISOString(),
    expires_at: new Date(grant.endsAtMs).toISOString(),
  };
}
