/** A file's own description of its audio. */
export interface DeclaredSound {
  /** Duration; 0 if the file does not declare one. */
  readonly seconds: number;
  /** The bytes of the file that are sound, as far as that is known: a video has pictures, too. */
  readonly bytes: number;
}

/** Minimum share of audio in a video that is only partly inspected: 320 kbit/s of 5 Mbit/s. */
export const soundInVideo = 1 / 16;
