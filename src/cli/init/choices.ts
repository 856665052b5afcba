import type { FoundVendor } from "../../config/environment/vendors.ts";
import type { ModelConfig } from "../../config/schema.ts";

/** A provider without built-in prices, whose own model list is requested. */
export interface ExtraProvider {
  readonly provider: string;
  /** The variable with its key; null for a local server, which has none. */
  readonly variable: string | null;
  readonly kind: "openai-compatible" | "azure";
  readonly baseUrl: string;
}

export interface ChosenExtra extends ExtraProvider {
  readonly models: readonly ModelConfig[];
}

/** The choices that `config init` writes. */
export interface InitChoices {
  readonly vendors: readonly {
    readonly vendor: FoundVendor;
    readonly models: readonly string[] | "catalog";
  }[];
  readonly extra: readonly ChosenExtra[];
  readonly keepsDemo: boolean;
  readonly data: string | null;
  /** The variable that holds the database's address; null for SQLite. */
  readonly storeVariable: string | null;
  readonly isOpen: boolean;
  readonly publicUrl: string | null;
  readonly signIn: SignInChoice | null;
}

export interface SignInChoice {
  readonly issuer: string;
  readonly clientId: string;
  readonly admin: string;
  /** The cap of each key that people create themselves; null if they cannot. */
  readonly keyCap: string | null;
}

/** The label of the account that their keys draw on. */
export const teamAccount = "team";

export const databaseVariable = "SLUICE_DATABASE_URL";
export const clientSecretVariable = "OIDC_CLIENT_SECRET";
