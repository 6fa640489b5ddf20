/**
 * The journals' disk: real files, in memory where the system has such a place, and their faults. What a killed process
 * leaves open is closed as the kernel would, its lock with it; what it was writing may be there in part.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { Lock } from '../../../lib/ledger/journal.ts'
import { type ProcessClock, running } from './timeline.ts'

const fast = '/dev/shm'
const { openSync, closeSync, writeSync, open, close, unlink, fsync, fdatasync } = fs
const real = { openSync, closeSync, writeSync, open, close, unlink, fsync, fdatasync }

/** A call that Node makes in another thread is made at once here, so that a seed says what comes in which order. */
const atOnce =
  <A extends unknown[], R>(call: (...args: A) => R) =>
  (...argsAndDone: [...A, (error: unknown, result?: R) => void]): void => {
    const done = argsAndDone.pop() as (error: unknown, result?: R) => void
    try {
      const result = call(...(argsAndDone as unknown as A))
      queueMicrotask(() => done(null, result))
    } catch (error) {
      queueMicrotask(() => done(error))
    }
  }

export class Disk {
  readonly root = fs.mkdtempSync(path.join(fs.existsSync(fast) ? fast : os.tmpdir(), 'books-'))
  readonly #folderOf = new Map<number, string>()
  readonly #locks = new Map<string, ProcessClock | undefined>()
  readonly #take = Lock.take
  /** Bytes that a process may still write; others have no bound. */
  readonly room = new Map<string, number>()

  constructor() {
    Lock.take = folder => this.#lock(folder)
    fs.openSync = (file, ...rest) => {
      const folder = path.dirname(String(file))
      if (folder.startsWith(this.root) && (this.room.get(folder) ?? 1) <= 0) throw full('open')
      const fd = real.openSync(file, ...rest)
      if (folder.startsWith(this.root)) this.#folderOf.set(fd, folder)
      return fd
    }
    fs.closeSync = fd => {
      this.#folderOf.delete(fd)
      real.closeSync(fd)
    }
    fs.writeSync = ((fd: number, bytes: Buffer, from: number) =>
      this.#write(fd, bytes.subarray(from))) as unknown as typeof fs.writeSync
    const instead = {
      open: atOnce((...args: Parameters<typeof openSync>) => fs.openSync(...args)),
      close: atOnce((fd: number) => fs.closeSync(fd)),
      unlink: atOnce(fs.unlinkSync),
      fsync: atOnce(() => {}), // the machine itself does not crash here
      fdatasync: () => {},
    }
    Object.assign(fs, instead)
    syncBuiltinESMExports()
  }

  /** As the kernel's, which a test with real processes proves; this one takes no time. */
  #lock(folder: string): Lock | null {
    if (this.#locks.has(folder) || !fs.existsSync(folder)) return null
    this.#locks.set(folder, running.getStore())
    return { release: () => this.#locks.delete(folder) } as unknown as Lock
  }

  #write(fd: number, bytes: Buffer): number {
    const folder = this.#folderOf.get(fd) ?? ''
    const room = this.room.get(folder)
    if (room === undefined) return real.writeSync(fd, bytes)
    if (room <= 0) throw full('write')
    const part = bytes.subarray(0, room)
    this.room.set(folder, room - part.length)
    return real.writeSync(fd, part)
  }

  /** `torn`: so many bytes of a record that it was just writing. */
  kill(process: ProcessClock, folder: string, torn: Buffer): void {
    const fds = [...this.#folderOf].filter(([, f]) => f === folder).map(([fd]) => fd)
    const last = fds.at(-1)
    if (last !== undefined && torn.length > 0) real.writeSync(last, torn)
    for (const fd of fds) fs.closeSync(fd)
    for (const [locked, owner] of this.#locks) if (owner === process) this.#locks.delete(locked)
    this.room.delete(folder)
  }

  host(name: string): string {
    const folder = path.join(this.root, name)
    fs.mkdirSync(folder, { recursive: true })
    return folder
  }

  clear(): void {
    for (const fd of this.#folderOf.keys()) fs.closeSync(fd)
    this.#locks.clear()
    this.room.clear()
    fs.rmSync(this.root, { recursive: true, force: true })
    fs.mkdirSync(this.root)
  }

  close(): void {
    this.clear()
    fs.rmSync(this.root, { recursive: true, force: true })
    Lock.take = this.#take
    Object.assign(fs, real)
    syncBuiltinESMExports()
  }
}

const full = (call: string): Error =>
  Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), { code: 'ENOSPC', errno: -28 })
