/**
 * What a relay has done elsewhere: answers are decoded by zlib's threads, long documents written by a thread of ours, and pictures by the
 * disk. Each piece of that work waits here until the walk says that it is done, so that it is late in as many ways as chance finds, and
 * a walk can be repeated.
 */
import type { Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { NoRoom } from '../../../lib/exchange/pictures/draft.ts'
import type { Services } from '../../../lib/exchange/record/services.ts'
import { writeWhole } from '../../../lib/translate/table.ts'
import type { AnswerJob, Result } from '../../../lib/translate/thread.ts'
import { type Random, withSeed } from '../../support/random.ts'

interface Work {
  what: string
  act: () => void | Promise<void>
}

type Decode = Transform['_transform']

export class Elsewhere {
  random: Random = withSeed(0)
  /** In the order in which it was asked for. */
  works: Work[] = []
  /** A thread has not written what it was asked to. */
  hasRefused = false
  /** Pictures whose files are not finished. */
  readonly drafts = new Set<Draft>()
  /** Pictures that were kept, by their names. */
  readonly kept = new Map<string, Buffer>()
  #prototype = Object.getPrototypeOf(createGunzip()) as { _transform?: Decode }

  begin(random: Random): void {
    this.random = random
    this.works = []
    this.hasRefused = false
    this.drafts.clear()
    this.kept.clear()
  }

  async go(work: Work): Promise<void> {
    this.works.splice(this.works.indexOf(work), 1)
    await work.act()
  }

  /** Resolves when the walk says so, with what `act` makes then. */
  later<T>(what: string, act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const work = () => {
        try {
          resolve(act())
        } catch (error) {
          reject(error as Error)
        }
      }
      this.works.push({ what, act: work })
    })
  }

  /** Decoders of gzip do nothing before they are told to, until the function is called that this returns. */
  holdDecoders(): () => void {
    const add = (act: Work['act']) => this.works.push({ what: 'the decoder', act })
    const prototype = this.#prototype
    const decode = prototype._transform as Decode
    prototype._transform = function (this: Transform, chunk, encoding, done) {
      const act = () =>
        new Promise<void>(resolve => {
          const isDone = () => void setImmediate(resolve) // the stream says the end of its answer in a later turn
          if (this.destroyed) {
            resolve()
            return
          }
          this.once('close', isDone)
          decode.call(this, chunk, encoding, (error, data) => {
            this.off('close', isDone)
            done(error, data)
            isDone()
          })
        })
      add(act)
    }
    return () => void Reflect.deleteProperty(prototype, '_transform')
  }

  /** In the place of the threads that translate. */
  get translating(): Services['translating'] {
    const run = (_account: number, _what: string, job: () => AnswerJob, done: (result: Result) => void) => {
      const act = () => {
        this.hasRefused ||= this.random.next() < 0.15
        done(this.hasRefused ? { what: this.random.pick(['full', 'died']) } : written(job()))
      }
      const work: Work = { what: 'the thread has written it', act }
      this.works.push(work)
      return { cancel: () => void (this.works = this.works.filter(one => one !== work)) }
    }
    return { run } as unknown as Services['translating']
  }

  /** In the place of a folder. */
  get pictures(): Services['pictures'] {
    return { settings: null, draft: () => new Draft(this) } as unknown as Services['pictures']
  }
}

const written = ({ what, parts, ...how }: AnswerJob): Result => ({ what, written: writeWhole(parts, how) })

class Draft {
  readonly #elsewhere: Elsewhere
  #held = Buffer.alloc(0)

  constructor(elsewhere: Elsewhere) {
    this.#elsewhere = elsewhere
  }

  get bytes(): number {
    return this.#held.length
  }

  #mayFail(): void {
    const { random } = this.#elsewhere
    if (random.next() < 0.1) throw random.pick([new NoRoom('no room'), new Error('the disk is away')])
  }

  write(bytes: Buffer): Promise<void> {
    this.#elsewhere.drafts.add(this)
    const kept = Buffer.from(bytes)
    return this.#elsewhere.later('the disk has written', () => {
      this.#mayFail()
      this.#held = Buffer.concat([this.#held, kept])
    })
  }

  keep(): Promise<string> {
    const { kept, drafts } = this.#elsewhere
    return this.#elsewhere.later('the disk has kept', () => {
      this.#mayFail()
      const name = `p${kept.size}`
      kept.set(name, this.#held)
      drafts.delete(this)
      return name
    })
  }

  read(buffer: Buffer, position: number): Promise<Buffer> {
    return this.#elsewhere.later('the disk has read', () => {
      const length = this.#held.copy(buffer, 0, position)
      return buffer.subarray(0, length)
    })
  }

  discard(): Promise<void> {
    return this.#elsewhere.later('the disk has forgotten', () => void this.#elsewhere.drafts.delete(this))
  }
}
