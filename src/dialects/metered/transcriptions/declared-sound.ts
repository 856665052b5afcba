/** What a file says of its sound. */
export interface DeclaredSound {
  /** 0 if it does not say how long it is. */
  readonly seconds: number;
  /** The bytes of the file that are sound, as far as that is known: a video has pictures, too. */
  readonly bytes: number;
}

/** The least share of sound in a video that is only looked at in parts: 320 kbit/s of 5 Mbit/s. */
export const soundInVideo = 1 / 16;
