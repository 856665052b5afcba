/** The part of a key that the writers need. */
export interface WrittenKey {
  readonly no: number;
  readonly accountNo: number;
  readonly isCredit: boolean;
}
