/**
 * `npm run bench:sign-ins [-- --rounds N --rate N --at N --write]`: what it costs the relay when sign-ins are tried all
 * the time. Small JSON is measured at a fixed rate on one gateway, in turns with nobody there and with `--at` callers that
 * try passwords without a pause, each time with another e-mail and from another address, so that only the queue for
 * hashes holds them up. --write puts the figures into docs/performance.md.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { scriptOptions } from '../test/support/script.ts'
import { startProbed, stopAll } from './kinds/context.ts'
import { besideTable, type Round, round } from './parts/beside.ts'
import type { Probed } from './parts/probed.ts'
import { type Tried, trySignIns } from './parts/sign-in-tries.ts'
import { ROOT, startUpstream } from './parts/subjects.ts'
import { replaceBlock } from './report/doc-block.ts'
import { GATEWAY } from './report/targets.ts'

const values = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '5' },
  rate: { type: 'string', default: '500' },
  at: { type: 'string', default: '32' },
  write: { type: 'boolean', default: false },
})
const [rounds, rate, at] = [Number(values.rounds), Number(values.rate), Number(values.at)]
const SECONDS = 8

/** A round with people who try to sign in. */
async function attacked(subject: Probed, all: Tried): Promise<Round> {
  const stop = trySignIns(subject, at)
  try {
    return await round(subject, rate, SECONDS)
  } finally {
    const { hashed, refused } = await stop()
    all.hashed += hashed
    all.refused += refused
  }
}

function report(alone: Round[], beside: Round[], { hashed, refused }: Tried): string {
  const perS = (count: number) => (count / rounds / SECONDS).toFixed(1)
  return [
    ...besideTable(alone, beside, 'nobody signs in', `${at} callers try passwords`),
    '',
    `${rate} requests/s, ${rounds} rounds of ${SECONDS} s, medians. ${perS(hashed)} passwords a second were hashed, and ${perS(refused)} tries found the queue full.`,
    `\`npm run bench:sign-ins -- --rounds ${rounds} --rate ${rate} --at ${at}\`, Node ${process.version}, ${os.cpus().length} cores.`,
  ].join('\n')
}

const upstream = await startUpstream()
const running: { stop(): Promise<void> }[] = [upstream]
try {
  const subject = await startProbed({ name: GATEWAY, root: ROOT }, upstream.port, {
    secret: 'a-secret-of-the-bench',
    trusted_proxies: ['127.0.0.1'],
  })
  running.unshift(subject)
  const tried: Tried = { hashed: 0, refused: 0 }
  await round(subject, rate, SECONDS)
  await attacked(subject, { ...tried })
  const [alone, beside]: [Round[], Round[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    alone.push(await round(subject, rate, SECONDS))
    beside.push(await attacked(subject, tried))
  }
  const text = report(alone, beside, tried)
  console.log(text)
  if (values.write) {
    const page = path.join(ROOT, 'docs/performance.md')
    writeFileSync(page, replaceBlock(readFileSync(page, 'utf8'), 'sign-ins', text))
  }
} finally {
  await stopAll(running)
}
