/** Runs seeds, one after the other in one process. */
import { makeTables } from '../../../lib/store/schema.ts'
import { Database } from './database.ts'
import { Disk } from './disk.ts'
import { World } from './world.ts'

export interface Failure {
  seed: number
  error: unknown
}

export class Runner {
  readonly #database = new Database()
  readonly #disk = new Disk()
  #unhandled: unknown[] = []
  readonly #onUnhandled = (error: unknown): void => void this.#unhandled.push(error)

  readonly #stackTraceLimit = Error.stackTraceLimit

  async open(): Promise<this> {
    Error.stackTraceLimit = 2 // most errors here are made on purpose, and many
    await makeTables(this.#database)
    process.on('unhandledRejection', this.#onUnhandled)
    return this
  }

  /** null: all was well. */
  /** With `trace`, every step and what the gateways and the store said goes there. */
  async run(seed: number, trace: string[] | null = null): Promise<Failure | null> {
    this.#unhandled = []
    this.#database.clear()
    this.#disk.clear()
    const world = new World(seed, this.#database, this.#disk, trace)
    this.#unhandled = world.timeline.crashes
    try {
      await world.run()
      return null
    } catch (error) {
      return { seed, error }
    }
  }

  close(): void {
    Error.stackTraceLimit = this.#stackTraceLimit
    process.off('unhandledRejection', this.#onUnhandled)
    this.#disk.close()
  }
}
