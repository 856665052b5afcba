import {
  type KeyAttributes,
  type KeyUpdate,
  keyAttributeNames,
  keyAttributes,
} from "../../base/key-attributes.ts";
import { cleanLabel, cleanTags } from "../../base/requests/labels.ts";
import { iso, isoMs } from "../moments.ts";
import type { WrittenCap } from "./cap-text.ts";
import type { CapsBody, KeyChangesBody, ShownAttributes } from "./schema.ts";

/** A key's own attributes as the API shows them. Its account's attributes are shown with the account. */
export function attributeDocument(attributes: KeyAttributes): ShownAttributes {
  const fields = keyAttributeNames.flatMap((name) => {
    const { field, kind, table } = keyAttributes[name];
    const value = attributes[field];
    if (table === "accounts") return [];
    return [[name, kind === "moment" && value !== null ? iso(Number(value)) : value] as const];
  });
  // Each value has the type that the schema of its kind describes.
  return Object.fromEntries(fields) as unknown as ShownAttributes;
}

export function attributesFromBody(body: KeyChangesBody): KeyUpdate {
  const fields = keyAttributeNames.map((name) => {
    const { field, kind } = keyAttributes[name];
    const value = body[name];
    if (kind === "name" && typeof value === "string") return [field, cleanLabel(value) || null];
    return [field, kind === "moment" && typeof value === "string" ? isoMs(value) : value];
  });
  return { ...Object.fromEntries(fields), ...sharedFromBody(body) };
}

type SharedBody = Pick<KeyChangesBody, "tags" | "tpm_limits">;

/** Attributes that keys and accounts share. An empty list or object removes the value; undefined leaves it unchanged. */
export function sharedFromBody({
  tags,
  tpm_limits: limits,
}: SharedBody): Pick<KeyUpdate, "tags" | "tpmLimits"> {
  return {
    tags: tags && Object.keys(tags).length === 0 ? null : tags && cleanTags(tags),
    tpmLimits:
      limits === null || limits?.length === 0
        ? null
        : limits?.map(({ limit, models = null }) => ({ limit, models })),
  };
}

/** Undefined leaves the caps unchanged. */
export function capsFromBody(caps: CapsBody | undefined): readonly WrittenCap[] | undefined {
  return caps?.map(({ limit, period, models = null }) => ({ amount: limit, period, models }));
}
