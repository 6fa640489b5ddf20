/**
 * `node test/runner/together.ts FILE …` runs test files one after the other in one process, and writes TAP. Most of what a
 * small test file costs is the start of a process and the loading of lib, which they share so. Each file is a test of its own,
 * whose teardowns run at its end.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { give } from './own-tests.ts'
import { blame } from './stray-errors.ts'

/** It only ends a file that waits in vain: far longer than what starts many processes takes on a busy machine. */
const FILE_MS = 1_200_000

// tap names the folders of fixtures after the arguments that it finds
const files = process.argv.splice(2)
const { default: root } = await import('tap')

root.setTimeout(0)
for (const file of files)
  await root.test(file, { timeout: FILE_MS }, async t => {
    const { href } = pathToFileURL(resolve(file))
    give(href, t)
    blame(t)
    await import(href)
  })
