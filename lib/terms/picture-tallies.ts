/** What is counted of pictures that are kept, so that answers can link to them. A part of the metrics. */
import { METRICS, PICTURE_OUTCOMES, type PictureOutcome } from './metric-rows.ts'
import { type Sample, Tally } from './tallies.ts'

export class PictureTallies {
  readonly #outcomes = new Tally()
  readonly #deleted = new Tally()
  #bytes = 0

  constructor() {
    for (const outcome of PICTURE_OUTCOMES) this.#outcomes.add(0, outcome)
  }

  count(outcome: PictureOutcome): void {
    this.#outcomes.add(1, outcome)
  }

  /** What a sweep has deleted, because the time of pictures was over or to make room, and what it has left. */
  swept({ expired, crowded, bytes }: { expired: number; crowded: number; bytes: number }): void {
    this.#deleted.add(expired, 'keep')
    this.#deleted.add(crowded, 'size')
    this.#bytes = bytes
  }

  samples(id: 'pictures' | 'picturesDeleted' | 'pictureBytes'): Sample[] {
    const { labels } = METRICS[id]
    if (id === 'pictureBytes') return [{ labels: {}, value: this.#bytes }]
    return (id === 'pictures' ? this.#outcomes : this.#deleted).samples(labels)
  }
}
