import type { Engine } from "../connection/open-engine.ts";
import { ImageTools } from "../tools/image-tools.ts";

/** What an engine says about an image, as far as we care. */
export interface ImageAnswer {
  readonly Id: string;
  readonly Config?: {
    readonly WorkingDir?: string;
    readonly User?: string;
    readonly Healthcheck?: object | null;
    readonly Volumes?: Readonly<Record<string, object>> | null;
    readonly Entrypoint?: readonly string[] | null;
    readonly Cmd?: readonly string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
}

/** What we have learned about an image and need not ask again. */
export interface ImageNote {
  readonly answer: ImageAnswer;
  /** Whether something stands at a path of a container that has not been started yet. */
  readonly standing: Map<string, boolean>;
  readonly tools: ImageTools;
}

/** Asks an engine about each image once, however many containers are made from it. */
export class ImageNotes {
  readonly #engine: Engine;
  readonly #notes = new Map<string, Promise<ImageNote>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  read(image: string, signal: AbortSignal): Promise<ImageNote> {
    const known = this.#notes.get(image);
    if (known) return known;
    const path = `/images/${encodeURIComponent(image)}/json`;
    const note = this.#engine.client
      .json<ImageAnswer>({ method: "GET", path, signal })
      .then((answer) => ({ answer, standing: new Map<string, boolean>(), tools: new ImageTools(this.#engine) }));
    this.#notes.set(image, note);
    note.catch(() => this.forget(image));
    return note;
  }

  /** To be called when an image is made anew or turns out to be gone. */
  forget(image: string): void {
    this.#notes.delete(image);
  }
}
