/**
 * What the parts of a relay share: the state it is in, the answer as far as it has come, and each other. The state changes
 * here only, by a transition of `states.ts`.
 */
import type { Exchange } from '../record/exchange.ts'
import { guard } from '../record/ending.ts'
import type { Services } from '../record/services.ts'
import type { Answer } from './answer.ts'
import type { Attempts } from './attempts.ts'
import type { Books } from './books.ts'
import { after, type State, type Transition } from './states.ts'
import type { Telling } from './telling.ts'

/** What a machine is made of. */
export interface Parts {
  x: Exchange
  services: Services
  answer: Answer
  attempts: Attempts
  telling: Telling
  books: Books
}

export class Machine implements Parts {
  readonly x: Exchange
  readonly services: Services
  readonly answer: Answer
  readonly attempts: Attempts
  readonly telling: Telling
  readonly books: Books
  state: State = 'asking'

  constructor({ x, services, answer, attempts, telling, books }: Parts) {
    this.x = x
    this.services = services
    this.answer = answer
    this.attempts = attempts
    this.telling = telling
    this.books = books
  }

  go(transition: Transition): void {
    this.state = after(this.state, transition)
  }

  /** The upstream is done with, and the books are closed. */
  get closed(): boolean {
    return this.state === 'ending'
  }

  /** Does what an event asks for; a fault on the way ends this exchange and reaches nobody else. */
  guard(act: () => void): void {
    guard(this.x, this.services, act)
  }

  /** In the order of the calls, when the charge is surely kept, unless the relay is closed by then. */
  whenKept(act: () => void): void {
    this.books.whenKept(() =>
      this.guard(() => {
        if (!this.closed) act()
      }),
    )
  }

  /** When the client was told all that came, which takes a moment where pictures become links. */
  whenTold(act: () => void): void {
    const links = this.answer.reading?.links ?? null
    if (links === null) act()
    else
      links.end(() =>
        this.guard(() => {
          if (!this.closed) act()
        }),
      )
  }

  /** When the meter has seen all that came, which takes a moment where it is compressed. */
  whenRead(act: () => void): void {
    const decoder = this.answer.reading?.decoder ?? null
    if (decoder === null) act()
    else
      decoder.catchUp(() =>
        this.guard(() => {
          if (!this.closed) act()
        }),
      )
  }
}
