import { type Static, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";
import { type Quirk, quirkNames } from "../dialects/contract/quirks.ts";

/** A setting that only some vendors have. */
interface VendorOption {
  readonly schema: TSchema;
  /** The form in the file: the value itself, or a reference to a secret of one line or of several. */
  readonly holds: "value" | "secret" | "document";
  /** It names the operator's account, which clients must not see. */
  readonly isAccountName?: true;
}

/** Becomes part of a host's name, so it must not hold anything else. */
const hostPart = (description: string) => Type.String({ pattern: "^[a-z0-9-]+$", description });

// The cast holds because the list has exactly the members of the type.
const quirk = Type.Union(quirkNames.map((name) => Type.Literal(name))) as unknown as TUnsafe<Quirk>;

const secret = (description: string) =>
  Type.String({ minLength: 1, description: `${description}, written \`env:NAME\` or \`file:/path\`.` });

/** All options, by their names in the configuration. `Vendor.options` lists the ones of each vendor. */
export const vendorOptions = {
  auth: {
    holds: "value",
    schema: Type.Union([Type.Literal("bearer"), Type.Literal("x-api-key"), Type.Literal("api-key")], {
      description:
        "How the API key is sent: as a bearer token or in a header; default: the vendor's usual way.",
    }),
  },
  quirks: {
    holds: "value",
    schema: Type.Array(quirk, {
      uniqueItems: true,
      description: "Known differences from OpenAI's chat API; default: by the host.",
    }),
  },
  resource: {
    holds: "value",
    schema: hostPart("azure: the resource's name, which determines the URL."),
    isAccountName: true,
  },
  api_version: {
    holds: "value",
    schema: Type.String({
      pattern: "^[a-z0-9.-]+$",
      description:
        "azure: a dated version such as 2024-10-21, for URLs with /deployments/. gemini: v1beta, v1 or v1alpha. bedrock: the `anthropic_version` in requests to Claude.",
    }),
  },
  safety: {
    holds: "value",
    schema: Type.Union(
      (["off", "none", "high", "medium", "low"] as const).map((level) => Type.Literal(level)),
      {
        description:
          "gemini: the lowest probability of harm at which prompts and responses are blocked; default: Google's.",
      },
    ),
  },
  project: {
    holds: "value",
    schema: hostPart("vertex: the project's id; default: the key file's."),
    isAccountName: true,
  },
  location: {
    holds: "value",
    schema: hostPart("vertex: where the models run, such as europe-west1, eu or global; default: global."),
  },
  anthropic_version: {
    holds: "value",
    schema: Type.String({
      pattern: "^[a-z0-9.-]+$",
      description: "vertex: the version of Anthropic's API in requests to Claude.",
    }),
  },
  tenant_id: {
    holds: "value",
    schema: Type.String({ pattern: "^[A-Za-z0-9.-]+$", description: "azure: the Entra tenant." }),
    isAccountName: true,
  },
  client_id: {
    holds: "value",
    schema: Type.String({ pattern: "^[A-Za-z0-9-]+$", description: "azure: the Entra application." }),
    isAccountName: true,
  },
  client_secret: { holds: "secret", schema: secret("azure: the Entra application's secret") },
  authority: {
    holds: "value",
    schema: Type.String({
      pattern: "^https?://",
      description: "azure: the host that issues tokens; default https://login.microsoftonline.com.",
    }),
  },
  credentials: {
    holds: "document",
    schema: Type.String({
      minLength: 1,
      description:
        "Instead of a key. azure: `managed_identity` or `workload_identity`. vertex: a key file, `metadata` or `adc`. bedrock: `chain`, AWS's credential chain.",
    }),
  },
  region: {
    holds: "value",
    schema: hostPart("bedrock: the AWS region, such as eu-central-1, which determines the URL."),
  },
  access_key_id: { holds: "secret", schema: secret("bedrock: the AWS access key's id") },
  secret_access_key: { holds: "secret", schema: secret("bedrock: the AWS access key's secret") },
  session_token: { holds: "secret", schema: secret("bedrock: the token that belongs to a temporary key") },
  endpoint: {
    holds: "value",
    schema: Type.Union([Type.Literal("runtime"), Type.Literal("mantle")], {
      description:
        "bedrock: `runtime` (default) for all models, or `mantle`, which serves models with their vendors' APIs.",
    }),
  },
  guardrail: {
    holds: "value",
    schema: Type.String({
      pattern: "^[A-Za-z0-9:/_-]+@(?:\\d+|DRAFT)$",
      description: "bedrock: a guardrail and its version as `id@version`, for Converse requests.",
    }),
    isAccountName: true,
  },
} as const satisfies Readonly<Record<string, VendorOption>>;

export type VendorOptionName = keyof typeof vendorOptions;

// The cast holds because the type is computed from the same object.
export const vendorOptionNames = Object.keys(vendorOptions) as readonly VendorOptionName[];

/** An option as one common type, for code that iterates over all of them. */
export function vendorOption(name: VendorOptionName): VendorOption {
  return vendorOptions[name];
}

/** The configured values, with references resolved. */
export type ProviderOptions = {
  readonly [Name in VendorOptionName]?: Static<(typeof vendorOptions)[Name]["schema"]>;
};

/** The options that hold no secret. */
export function publicOptions(options: ProviderOptions): ProviderOptions {
  const isPublic = ([name]: [string, unknown]) => vendorOption(name as VendorOptionName).holds === "value";
  return Object.fromEntries(Object.entries(options).filter(isPublic));
}

/**
 * A way to authenticate: the settings that it needs, and its optional ones. Of all the ways that a vendor has, exactly
 * one can be configured.
 */
export interface AuthenticationWay {
  readonly needs: readonly ("api_key" | VendorOptionName)[];
  readonly mayHave?: readonly VendorOptionName[];
}

export const byApiKey: AuthenticationWay = { needs: ["api_key"], mayHave: ["auth"] };
