import { type LoadContext, validFields } from "./problems.ts";
import type { ConfigFile } from "./schema.ts";
import type { AdminSettings } from "./settings.ts";

/** Warnings about who can sign in, and with what. `models` are all names that clients can request. */
export function lintSignIn(
  config: ConfigFile,
  { admin, models }: { readonly admin: AdminSettings; readonly models: readonly string[] },
  { places, problems }: LoadContext,
): string[] {
  const written = validFields(config.admin, "admin", problems);
  return [...withoutSignIn(written), ...withoutAddress(written, admin), ...unknownModels(admin, models)].map(
    ([path, warning]) => `${places.describe(`admin.${path}`)} ${warning}`,
  );
}

type Written = NonNullable<ConfigFile["admin"]>;
type Warning = readonly [path: string, warning: string];

const signedIn = ["admins", "viewers", "members", "member_keys", "managed_settings"] as const;

function withoutSignIn(written: Written): Warning[] {
  if (written.oidc !== undefined || written.user_header !== undefined) return [];
  return signedIn
    .filter((name) => written[name] !== undefined)
    .map((name) => [name, "has no effect without admin.oidc or admin.user_header"]);
}

/** A group without `group:` is compared with addresses, so it matches no person. */
function withoutAddress({ oidc, user_header: header }: Written, admin: AdminSettings): Warning[] {
  if (oidc === undefined || header !== undefined || (oidc.user_claim ?? "email") !== "email") return [];
  const { admins, viewers, members, memberKeys, managedSettings } = admin;
  const lists: readonly (readonly [path: string, names: readonly string[]])[] = [
    ["admins", admins],
    ["viewers", viewers],
    ["members", members === "everyone" ? [] : members],
    ["member_keys", memberKeys.flatMap(({ for: names }) => names ?? [])],
    ["managed_settings", managedSettings.flatMap(({ for: names }) => names ?? [])],
  ];
  return lists.flatMap(([list, names]) =>
    names
      .filter((name) => !name.includes("@") && !name.startsWith("group:"))
      .map((name) => [
        list,
        `has "${name}", which is not an e-mail address; pass "group:${name}" for a group`,
      ]),
  );
}

/** Claude Code resolves names of its own, such as `opus` and `sonnet[1m]`. */
const isOwnName = (name: string) => /^[a-z]+$/.test(name);

function unknownModels({ memberKeys, managedSettings }: AdminSettings, models: readonly string[]): Warning[] {
  const known = new Set(models);
  const warnings = (path: string, names: readonly unknown[]) =>
    [...new Set(names)].flatMap((name): Warning[] => {
      if (typeof name !== "string" || known.has(name)) return [];
      return [[path, `has "${name}", a model that is not configured`]];
    });
  const path = (name: string, place: number, all: readonly unknown[]) =>
    all.length > 1 || name === "managed_settings" ? `${name}[${place}]` : name;
  return [
    ...memberKeys.flatMap(({ models: names }, place) =>
      warnings(path("member_keys", place, memberKeys), names ?? []),
    ),
    ...managedSettings.flatMap(({ claudeCode: { model, availableModels } }, place) => {
      const named = [model, ...(Array.isArray(availableModels) ? availableModels : [])].map((name) =>
        typeof name === "string" ? name.replace(/\[\w+\]$/, "") : null,
      );
      const own = named.filter((name) => name === null || !isOwnName(name));
      return warnings(path("managed_settings", place, managedSettings), own);
    }),
  ];
}
