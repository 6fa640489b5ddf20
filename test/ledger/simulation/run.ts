/** Runs seeds, one after the other in one process. */
import { migrate } from '../../../lib/store/migrations.ts'
import { Database } from './database.ts'
import { Disk } from './disk.ts'
import { World } from './world.ts'

export interface Failure {
  seed: number
  error: unknown
  trace: string[]
}

export class Runner {
  readonly #database = new Database()
  readonly #disk = new Disk()
  #unhandled: unknown[] = []
  readonly #onUnhandled = (error: unknown): void => void this.#unhandled.push(error)

  async open(): Promise<this> {
    await migrate(this.#database)
    process.on('unhandledRejection', this.#onUnhandled)
    return this
  }

  /** null: all was well. */
  async run(seed: number): Promise<Failure | null> {
    const trace: string[] = []
    this.#unhandled = []
    this.#database.clear()
    this.#disk.clear()
    const world = new World(seed, this.#database, this.#disk, text => trace.push(text))
    this.#onCrash(world)
    try {
      await world.run()
      return null
    } catch (error) {
      return { seed, error, trace }
    }
  }

  #onCrash(world: World): void {
    this.#unhandled = world.timeline.crashes
  }

  close(): void {
    process.off('unhandledRejection', this.#onUnhandled)
    this.#disk.close()
  }
}
