/** An operation that the store does not allow, explained to the operator. The data is unchanged. */
export class StoreRefusal extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.name = "StoreRefusal";
    this.reason = reason;
  }
}

export type RefusalReason =
  | "unknown_key"
  | "unknown_account"
  | "label_taken"
  | "changed"
  | "closed"
  | "wrong_mode"
  | "revoked"
  | "invalid_amount"
  | "too_many_groups"
  | "reference_conflict"
  | "file_exists"
  | "newer_schema"
  | "other_schema"
  | "corrupt"
  | "not_a_database"
  | "invalid_url"
  | "unreachable"
  | "unsafe_server"
  | "schema_missing"
  | "not_empty"
  | "copy_differs"
  | "moved"
  | "unmade_charges"
  | "in_use"
  | "locked"
  | "ledger_missing"
  | "disk_full"
  | "unwritable"
  | "readable_by_others";
