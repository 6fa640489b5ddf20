/** A lock on a folder that the kernel takes back when the process ends, however it ends. */
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export class Lock {
  readonly #db: DatabaseSync

  private constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** null: another process has it, or the folder is gone. */
  static take(folder: string): Lock | null {
    let db: DatabaseSync | null = null
    try {
      db = new DatabaseSync(path.join(folder, 'lock'))
      db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
      return new Lock(db)
    } catch {
      db?.close()
      return null
    }
  }

  release(): void {
    this.#db.close()
  }
}
