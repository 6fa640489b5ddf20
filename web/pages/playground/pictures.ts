/** Pictures of the playground: those that the reader adds to a question, and those of an answer, which are shown where that is safe. */
import type { Signal } from '@preact/signals'
import { a, button, type Child, div, img, input, label, span } from '../../base/element.ts'
import { icon } from '../../base/icons.ts'
import { say } from '../../base/page.ts'
import { words } from '../../base/words.ts'

const w = words({
  add: ['添加图片', 'Add pictures'],
  remove: [(at: number) => `移除第${at}张图片`, (at: number) => `Remove picture ${at}`],
  picture: [(at: number) => `第${at}张图片`, (at: number) => `Picture ${at}`],
  tooMany: ['最多 4 张图片，每张不超过 5 MB。', 'At most 4 pictures of 5 MB each.'],
})

const MOST = 4
const MOST_BYTES = 5 * 1024 * 1024
const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']
/** Bytes that become text at a time: a call takes only so many arguments. */
const PIECE = 0x8000

async function urlOf(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE))
  return `data:${file.type};base64,${btoa(text)}`
}

async function addTo(chosen: Signal<readonly string[]>, files: readonly File[]): Promise<void> {
  const fit = files.filter(({ type, size }) => TYPES.includes(type) && size <= MOST_BYTES)
  const room = MOST - chosen.value.length
  if (fit.length < files.length || fit.length > room) say(w.tooMany(), 'failed')
  chosen.value = [...chosen.value, ...(await Promise.all(fit.slice(0, room).map(urlOf)))]
}

export const pictureField = (chosen: Signal<readonly string[]>): Child =>
  div(
    { class: 'row' },
    label(
      { class: 'button small', for: 'pictures' },
      icon('plus'),
      span({}, w.add()),
      input({
        id: 'pictures',
        class: 'unseen',
        type: 'file',
        accept: TYPES.join(','),
        multiple: true,
        onChange: ({ currentTarget }) => {
          void addTo(chosen, [...(currentTarget.files ?? [])])
          currentTarget.value = ''
        },
      }),
    ),
    chosen.value.map((url, at) =>
      button(
        {
          key: url,
          type: 'button',
          class: 'thumb',
          'aria-label': w.remove(at + 1),
          onClick: () => (chosen.value = chosen.value.filter(one => one !== url)),
        },
        img({ src: url, alt: '' }),
        icon('close'),
      ),
    ),
  )

/** A picture of these types runs nothing. */
const isSafe = (url: string): boolean =>
  TYPES.some(type => url.startsWith(`data:${type};base64,`)) || url.startsWith(`${location.origin}/files/`)

/** What stands elsewhere is not fetched by this page: its reader opens it. */
export const shownPictures = (pictures: readonly string[]): Child =>
  pictures.map((url, at) => {
    if (isSafe(url)) return img({ key: at, src: url, alt: w.picture(at + 1) })
    if (!/^https?:\/\//.test(url)) return null
    return a({ key: at, href: url, target: '_blank', rel: 'noopener noreferrer' }, w.picture(at + 1))
  })
