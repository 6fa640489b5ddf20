/**
 * `node test/runner/together.ts FILE …` runs test files one after the other in one process, and writes TAP. Most of what a
 * small test file costs is the start of a process and the loading of lib, which they share so. Each file is a test of its own,
 * whose teardowns run at its end.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { give } from './own-tests.ts'
import { gatherOutput } from './output.ts'
import { blame } from './stray-errors.ts'

/** It only ends a file that waits in vain: far longer than what starts many processes takes on a busy machine. */
const FILE_MS = 1_200_000

gatherOutput()
// tap names the folders of fixtures after the arguments that it finds
const files = process.argv.splice(2)
const { default: root } = await import('tap')

/** A process that goes on so long after its last test has a server or a connection that nobody closed, and would never end. */
const AFTERWARDS_MS = Number(process.env['AFTERWARDS_MS'] ?? 60_000)

/** Clock ticks a second of `/proc/self/stat`, the same on every Linux. */
const TICKS_PER_S = 100

/** Seconds of processor time of this process, and of its children that have ended where the system tells (Linux). */
function processorS(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /, '')
      .split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_S
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
}

root.setTimeout(0)
let spentS = 0
for (const file of files) {
  await root.test(file, { timeout: FILE_MS }, async t => {
    const { href } = pathToFileURL(resolve(file))
    give(href, t)
    blame(t)
    await import(href)
  })
  const nowS = processorS()
  root.comment(`processor ${(nowS - spentS).toFixed(2)} ${file}`)
  spentS = nowS
}
setTimeout(() => {
  console.error(`left open after the last test: ${process.getActiveResourcesInfo().join(' ')}`)
  process.exit(1)
}, AFTERWARDS_MS).unref()
