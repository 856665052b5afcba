/** A key as the writers need it. */
export interface WrittenKey {
  readonly no: number;
  readonly accountNo: number;
  readonly isCredit: boolean;
}
