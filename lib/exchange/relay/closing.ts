/**
 * The ways out of a relay: each charges what is owed, tells the client how its answer ends, and closes the books. They differ
 * in what is charged and in what the client is told; `settle.ts` and `telling.ts` have the details of both.
 */
import type { ErrorName } from '../../base/errors.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Failure } from '../../translate/events.ts'
import { translated } from '../../translate/table.ts'
import { refuse } from '../record/ending.ts'
import { answerEstimate, asksNoMore, isAnswer, isCount } from './counting.ts'
import type { Machine } from './machine.ts'
import type { Reading } from './reading.ts'
import type { Transition } from './states.ts'
import { NO_MEMORY } from './translation.ts'

export class Closing {
  readonly #m: Machine

  constructor(machine: Machine) {
    this.#m = machine
  }

  // --- the answer is whole

  /** The upstream has said all it had to. `nothing`: its answer is not charged. */
  complete(how: 'completed' | 'broken' | 'nothing'): void {
    const { books } = this.#m
    this.#m.go('keep')
    books.settle(how)
    this.#m.whenKept(() =>
      this.#m.whenTold(() => {
        this.#sendRest()
        this.tellEnd()
        this.#endNow()
      }),
    )
  }

  /** Sends what was held back of an event that has no end. */
  #sendRest(): void {
    const rest = this.#m.answer.reading?.rest() ?? null
    if (rest !== null) this.#m.telling.send(rest)
  }

  /** Sends the end of a translated answer, which has the usage that was charged. */
  tellEnd(): void {
    const { answer, telling, x } = this.#m
    const last = x.usage === null ? null : (answer.reading?.translation?.finish(x.usage) ?? null)
    if (last !== null) telling.sendEnd(last)
  }

  #endNow(): void {
    this.#m.telling.end()
    this.#close('end')
  }

  /**
   * The answer is charged, and the upstream sends more behind its end. The client gets nothing of that. When it was promised a
   * length, its connection is cut, as after an upstream that broke off.
   */
  endBehindEnd(): void {
    const { attempts, answer, telling } = this.#m
    attempts.cut()
    answer.isDone = true
    if (!telling.announced) this.#m.whenKept(() => this.#m.whenTold(() => this.#endNow()))
    else {
      telling.destroy() // the content-length that the client has seen promised more bytes
      this.#close('breakOff')
    }
  }

  // --- the answer is not whole

  /** The upstream broke off after its first byte: the client's stream says so, and does not end cleanly. */
  endBroken(): void {
    const { answer, telling, x } = this.#m
    this.#m.go('keep')
    this.#m.whenRead(() => {
      answer.reading?.meter.end(false)
      this.#m.whenKept(() => {
        // all had been said and charged; only the connection's end was wanting
        if (x.row !== null && !telling.announced) this.#m.whenTold(() => this.#endNow())
        else {
          this.#sendRest()
          this.#breakOff()
        }
      })
    })
  }

  #breakOff(): void {
    const { answer, attempts, books, telling, x } = this.#m
    if (answer.reading !== null) attempts.broke()
    if (x.free) {
      this.countInstead()
      return
    }
    const isDocument = !answer.reading?.events
    // an answer that is charged already is not taken back
    if (x.row === null && !telling.gone && (telling.unseen || (isDocument && telling.takeBack()))) {
      this.#refuse('takeBack', 'upstream')
      return
    }
    books.settle('broken')
    telling.breakOff('upstream')
    this.#close('breakOff')
  }

  /**
   * An answer cannot be told to its end: the upstream reports an error, or says what the client's protocol cannot, or there is no
   * memory for it. What was told is charged. A client that has seen nothing of it gets the error, and nothing is charged.
   */
  endFailed(failure: Failure): void {
    const { answer, attempts, books, telling, x } = this.#m
    const isOurs = failure === NO_MEMORY
    if (isOurs) attempts.cutForMemory()
    else {
      attempts.broke()
      attempts.cut()
    }
    answer.isDone = true
    answer.reading?.meter.end(false)
    this.#m.go('keep')
    if (x.row === null && telling.unseen) {
      if (isOurs) this.#refuse('takeBack', 'unavailable')
      else this.#answerFailure('takeBack', failure)
      return
    }
    books.settle('broken')
    if (isOurs) telling.breakOff('unavailable')
    else telling.breakOffBy(failure)
    this.#close('breakOff')
  }

  /** The money ended: the upstream is closed, and a client that is still there gets the protocol's own length stop. */
  stopByLength(): void {
    const { attempts, answer, books, telling } = this.#m
    attempts.cut()
    answer.isDone = true
    books.settle('stopped')
    telling.stopByLength()
    this.#close('stop')
  }

  // --- there is no answer

  /** No answer of an upstream can be passed on: the client gets a refusal of ours. */
  giveUp(name: ErrorName): void {
    this.#refuse('giveUp', name)
  }

  /** The same, where the upstream's error is told in the words of the client's protocol. */
  tellFailure(failure: Failure): void {
    this.#m.attempts.discard()
    this.#answerFailure('giveUp', failure)
  }

  #answerFailure(by: Transition, failure: Failure): void {
    const { books, telling, x } = this.#m
    if (telling.early || telling.gone) {
      books.settle('nothing', 'upstream')
      if (telling.early) telling.refuse('upstream')
    } else {
      const error = translated(x.protocol as Protocol).writeError(failure)
      x.status = error.status // the row has what the client is told
      books.settle('nothing')
      telling.answerError(error)
    }
    this.#close(by)
  }

  #refuse(by: Transition, name: ErrorName): void {
    this.#m.books.settle('nothing', name)
    this.#m.telling.refuse(name)
    this.#close(by)
  }

  /** All of the answer to a request that counts tokens has come. */
  judgeCount(reading: Reading): void {
    if (isAnswer(reading)) this.noCount()
    else if (!isCount(reading)) this.countInstead()
    else {
      for (const chunk of reading.count) this.#m.telling.send(chunk)
      this.complete('nothing')
    }
  }

  /** The upstream answers as its model would, to a request that costs nothing. */
  noCount(): void {
    const { attempts, x } = this.#m
    asksNoMore(attempts.candidate.channel, x.protocol as Protocol)
    attempts.cut()
    this.countInstead()
  }

  countInstead(): void {
    const { attempts, telling, x, services } = this.#m
    attempts.discard()
    if (!telling.gone) answerEstimate(x, services)
    this.#close('estimate')
  }

  // --- nobody waits for it

  /** The client has left, and its upstream is closed. `missed`: it was silent for as long as `first_byte` allows. */
  cut(missed: boolean): void {
    const { answer, attempts, books } = this.#m
    const { costs } = books
    if (missed && answer.status === 0) attempts.judge('failed')
    attempts.cut()
    this.#m.whenRead(() => {
      answer.reading?.meter.end(false)
      try {
        books.settle(costs ? 'left' : 'nothing')
      } finally {
        this.#close('cut') // also where the charge cannot be kept
      }
    })
  }

  abandon(name: ErrorName): void {
    const { answer, attempts, books, telling, x, services } = this.#m
    attempts.cut()
    answer.reading?.meter.end(false)
    try {
      books.settle(answer.firstByteMs < 0 || (telling.unseen && !telling.gone) ? 'nothing' : 'broken')
    } finally {
      if (x.status === 0 && !telling.gone) refuse(x, services, name)
      else telling.destroy()
      this.#close('abandon')
    }
  }

  #close(by: Transition): void {
    if (this.#m.closed) return
    this.#m.go(by)
    this.#m.books.close()
  }
}
