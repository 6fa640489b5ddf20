/**
 * Judges the answer of an upstream by its head and by its first bytes: whether it is an answer, and what the client is better told
 * in its place. While an answer is not judged, the next candidate may still be asked.
 */
import type { Protocol } from '../../terms/records.ts'
import type { Closing } from './closing.ts'
import type { Machine } from './machine.ts'
import type { Reading } from './reading.ts'
import { couldNotCount, refusesKey } from './upstream-status.ts'

/** What is not 2xx passes as it comes, unless the client is better told something else. */
export function judgeStatus({ attempts, telling, x }: Machine, closing: Closing, status: number): void {
  const own = attempts.candidate.channel.special[x.form as Protocol]?.count
  if (!telling.early && x.free && couldNotCount(status, own)) closing.countInstead()
  else if (telling.early || refusesKey(status)) {
    attempts.discard()
    closing.giveUp('upstream')
  }
}

/**
 * By what the meter says of the first bytes. False: the answer began with an error and nothing else. Another candidate is being
 * asked; or there is none, and the client of a stream is told an error of ours. A document with an error passes, and is free.
 */
export function judgeFirst(
  machine: Machine,
  closing: Closing,
  { meter, events }: Pick<Reading, 'meter' | 'events'>,
): boolean {
  const { attempts, x } = machine
  const isAnswer = !meter.failed || meter.counted > 0
  attempts.judge(isAnswer ? 'ok' : 'failed')
  if (!isAnswer && attempts.tryNext()) return false
  if (events && meter.failedAlone && !x.free) {
    attempts.discard()
    closing.giveUp('upstream')
    return false
  }
  machine.go('accept')
  return true
}

/** The upstream sent 2xx and then nothing. */
export function judgeEmpty({ attempts, x }: Machine, closing: Closing): void {
  attempts.judge('failed')
  if (attempts.tryNext()) return
  if (x.free) closing.countInstead()
  else closing.giveUp('upstream')
}
