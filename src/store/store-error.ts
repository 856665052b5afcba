/** An operation that the store does not allow, explained to the operator. The data is unchanged. */
export class StoreError extends Error {
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string) {
    super(message);
    this.name = "StoreError";
    this.reason = reason;
  }
}

export type StoreErrorReason =
  | (
      | "unknown_key"
      | "unchained"
      | "unknown_account"
      | "unknown_cap"
      | "label_taken"
      | "changed"
      | "closed"
      | "wrong_mode"
    )
  | ("revoked" | "invalid_amount" | "too_many_groups" | "reference_conflict" | "file_exists")
  | ("newer_schema" | "other_schema" | "corrupt" | "not_a_database" | "invalid_url" | "unreachable")
  | ("unsafe_server" | "schema_missing" | "not_empty" | "copy_differs" | "moved" | "unmade_charges")
  | ("in_use" | "locked" | "ledger_missing" | "disk_full" | "unwritable" | "readable_by_others");
