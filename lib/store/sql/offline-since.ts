/**
 * Since when a model is temporarily offline. The document of a model's row has, beside what people set, the moment for
 * each group that `offline` names, or one moment for all groups. A moment stays while its entry does, so that an edit of
 * a price does not begin the time anew.
 */
import type { Offline } from '../../terms/records.ts'
import { EVERYWHERE, type OfflineSince } from '../types.ts'

const namesOf = (offline: Offline): readonly string[] => (offline === true ? [EVERYWHERE] : offline)

/** `before`: what the row has had so far. */
export const movedSince = (before: OfflineSince, offline: Offline, nowMs: number): [string, number][] =>
  namesOf(offline).map(name => [name, before.get(name) ?? before.get(EVERYWHERE) ?? nowMs])
