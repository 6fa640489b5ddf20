/** Errors of the store that callers know. */
import type { Words } from '../../base/people.ts'

/** The engine does not answer or does not serve (down, read-only, too many connections). A later try may succeed. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
  /** The engine answers and takes no writes, so that what is only read may still be asked for. */
  readonly readsOnly: boolean = false
}

/** A request contradicts what the store has (a name is taken, an id does not exist); the message is for people. */
export class StoreConflict extends Error {
  override name = 'StoreConflict'
  /** The message in every language; null = only operators can come upon it, who read English. */
  readonly words: Words | null

  constructor(message: string | Words) {
    super(typeof message === 'string' ? message : message.en)
    this.words = typeof message === 'string' ? null : message
  }
}

/** There are as many rows of this kind as there may be: something must go before another one may come. */
export class StoreFull extends StoreConflict {
  override name = 'StoreFull'
}

/** The session or the token of whoever asks, or what it was to be opened by, has ended since it was looked at. */
export class SignedOut extends StoreConflict {
  override name = 'SignedOut'

  constructor() {
    super({ zh: '登录已失效，请重新登录', en: 'you were signed out meanwhile: sign in again' })
  }
}

/** Another process applies the same catalogue file and has written this row first; nothing was written here. */
export class AppliedElsewhere extends Error {
  override name = 'AppliedElsewhere'
}
