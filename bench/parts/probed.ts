/** Starts subjects with `probe.ts` loaded, and asks it for figures. */
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Reading } from './probe.ts'
import type { Subject } from './subjects.ts'

const PROBE = pathToFileURL(path.join(import.meta.dirname, 'probe.ts')).href

/** Calls `start` with the environment that loads the probe. */
export async function probed(start: (env: NodeJS.ProcessEnv) => Promise<Subject>): Promise<Probed> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-probe-'))
  const address = path.join(folder, 's')
  const options = `${process.env['NODE_OPTIONS'] ?? ''} --import=${PROBE}`.trim()
  const subject = await start({ NODE_OPTIONS: options, BENCH_PROBE: address })
  return {
    ...subject,
    read: () => ask(address, 'read'),
    watch: () => ask(address, 'watch'),
    collect: () => ask(address, 'collect'),
    async stop() {
      await subject.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface Probed extends Subject {
  /** Starts to measure `stallMs` anew. */
  watch?(): Promise<Reading>
  /** Collects all garbage before it reads. */
  collect?(): Promise<Reading>
}

const ask = (address: string, order: string): Promise<Reading> =>
  new Promise((resolve, reject) => {
    let text = ''
    const socket = net.connect(address, () => socket.write(order))
    socket.on('data', data => {
      text += data
    })
    socket.on('error', reject)
    socket.on('end', () => resolve(JSON.parse(text) as Reading))
  })
