/**
 * A lock on a folder that the kernel releases when the process ends, however it ends. It is the exclusive lock of an
 * empty SQLite database in the file `lock`, because Node itself has no file locks.
 */
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export class Lock {
  readonly #db: DatabaseSync

  private constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** null when another process has the lock, or the folder does not exist. Never waits. */
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
