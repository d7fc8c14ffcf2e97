;;; sould-diff.el --- All that is pending in a project, as a diff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The review buffer: a diff of each file, made from what the server lists, with the keys of the review.  It follows the server, and
;; keeps point on the hunk it is on.  It writes no file; its commands are those of `sould-review'.

;;; Code:

(require 'sould-review)

(declare-function sould-menu "sould-menu")

(defcustom sould-diff-context-lines 3
  "Lines that `sould-review' shows around a hunk."
  :type 'natnum
  :group 'sould)

(defvar-local sould-diff--project nil "The project of this review buffer.")

(defvar sould-diff-mode-map
  (let ((map (make-sparse-keymap)))
    (suppress-keymap map)
    (pcase-dolist (`(,key . ,command)
                   '(("n" . diff-hunk-next) ("p" . diff-hunk-prev) ("N" . diff-file-next) ("P" . diff-file-prev)
                     ("k" . sould-keep) ("r" . sould-reject) ("u" . sould-undo)
                     ("K" . sould-keep-file) ("R" . sould-reject-file)
                     ("m" . sould-comment) ("M" . sould-send-comments)
                     ("g" . sould-diff-refresh) ("q" . quit-window) ("?" . sould-menu)
                     ("\r" . sould-diff-visit) ("o" . sould-diff-visit-other-window)))
      (define-key map key command))
    map)
  "Keys of the review buffer.")

(define-derived-mode sould-diff-mode diff-mode "sould review"
  "What agents changed in a project and nobody decided about yet.
\\{sould-diff-mode-map}"
  (setq-local sould-review-hunks-function #'sould-diff--chosen
              diff-font-lock-syntax nil
              ;; diff-mode's own keys for a buffer that is read only would hide ours
              minor-mode-overriding-map-alist nil
              buffer-undo-list t
              buffer-read-only t))

;;;###autoload
(defun sould-review ()
  "Show all that is pending in this project as a diff."
  (interactive)
  (let* ((project (sould-project-current t))
         (name (file-name-nondirectory (directory-file-name (sould-project-root project))))
         (buffer (get-buffer-create (format "*sould review: %s*" name))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'sould-diff-mode)
        (sould-diff-mode))
      (setq default-directory (sould-project-root project)
            sould-diff--project project
            sould-project--of-buffer project)
      (sould-diff-refresh))
    (pop-to-buffer buffer)))

(defun sould-diff-refresh ()
  "Show what is pending now; point stays on its hunk."
  (interactive)
  (let* ((inhibit-read-only t)
         (hunk (sould-diff--at (point)))
         (offset (- (point) (or (sould-diff--start (point)) (point))))
         (before (point))
         (shown (next-single-property-change (point-min) 'sould-hunk)))
    (erase-buffer)
    (let ((paths (sould-project-paths sould-diff--project)))
      (dolist (path paths)
        (sould-diff--insert-file path (sould-project-file sould-diff--project path)))
      (unless paths
        (insert "Nothing to review.\n")))
    (goto-char (if shown
                   (sould-diff--again hunk offset before)
                 (or (next-single-property-change (point-min) 'sould-hunk) (point-min))))
    (dolist (window (get-buffer-window-list nil nil t))
      (set-window-point window (point)))))

(defun sould-diff--again (hunk offset before)
  "Where point belongs: OFFSET behind the start of HUNK, or else near BEFORE."
  (let ((place (point-min)))
    (while (and place hunk (not (eql (plist-get (get-text-property place 'sould-hunk) :id) (plist-get hunk :id))))
      (setq place (next-single-property-change place 'sould-hunk)))
    (min (point-max)
         (cond ((null hunk) before)
               (place (+ place offset))
               (t (save-excursion
                    (goto-char (min before (point-max)))
                    (or (sould-diff--start (point))
                        (next-single-property-change (point) 'sould-hunk)
                        (and (re-search-backward "^@@" nil t) (point))
                        (point-min))))))))

(defun sould-diff--start (place)
  "Where the hunk at PLACE begins, or nil."
  (when-let ((hunk (sould-diff--at place)))
    (let ((start place))
      (while (and (> start (point-min)) (eq (sould-diff--at (1- start)) hunk))
        (setq start (previous-single-property-change start 'sould-hunk nil (point-min))))
      start)))

(defun sould-diff--at (place)
  "The hunk at PLACE, or nil."
  (and (< place (point-max)) (get-text-property place 'sould-hunk)))

(defun sould-diff--chosen ()
  "The hunks at point, or in the region."
  (if (not (use-region-p))
      (when-let ((hunk (sould-diff--at (point))))
        (list hunk))
    (let ((place (region-beginning)) (end (region-end)) found)
      (while (and place (< place end))
        (cl-pushnew (sould-diff--at place) found :test #'eq)
        (setq place (next-single-property-change place 'sould-hunk nil end)))
      (nreverse (delq nil found)))))

;;;; Making it

(defun sould-diff--insert-file (path file)
  "Insert a diff of PATH with the hunks of FILE."
  (let* ((hunks (plist-get file :hunks))
         (name (sould-sight-line (file-relative-name path (sould-project-root sould-diff--project))))
         (lines (sould-diff--lines path))
         (end 0))
    (insert (propertize (format "diff a/%s b/%s\n--- %s\n+++ %s\n" name name
                                (if (plist-get file :isNew) "/dev/null" (concat "a/" name))
                                (if (plist-get file :exists) (concat "b/" name) "/dev/null"))
                        'sould-path path))
    (while hunks
      (let* ((hunk (pop hunks))
             (begin (point))
             (next (if hunks (plist-get (car hunks) :start) (length lines))))
        (if (equal (plist-get hunk :kind) "text")
            (setq end (sould-diff--insert-lines hunk lines end next))
          (insert "@@ -0,0 +0,0 @@ " (sould-hunks-note hunk) (sould-hunks-by hunk) "\n"))
        (put-text-property begin (point) 'sould-hunk hunk)))))

(defun sould-diff--lines (path)
  "The lines of the file PATH as its user sees them, with their ends."
  (let ((buffer (sould-sync-buffer path)))
    (vconcat
     (sould-diff--split
      (cond (buffer (with-current-buffer buffer
                      (save-restriction
                        (widen)
                        (buffer-substring-no-properties (point-min) (point-max)))))
            ((file-readable-p path) (with-temp-buffer
                                      (insert-file-contents path)
                                      (buffer-string)))
            (t ""))))))

(defun sould-diff--split (text)
  "TEXT as a list of lines with their ends."
  (let ((start 0) found)
    (while (< start (length text))
      (let ((end (or (string-search "\n" text start) (1- (length text)))))
        (push (substring text start (1+ end)) found)
        (setq start (1+ end))))
    (nreverse found)))

(defun sould-diff--insert-lines (hunk lines after before)
  "Insert HUNK with what is around it in LINES, between AFTER and BEFORE.
Where its context ends."
  (let* ((start (plist-get hunk :start))
         (base (plist-get hunk :base))
         (now (mapcar (lambda (line) (plist-get line :text)) (plist-get hunk :lines)))
         (behind (+ start (length now)))
         (first (min start (max after (- start sould-diff-context-lines))))
         (last (max behind (min before (length lines) (+ behind sould-diff-context-lines))))
         (above (seq-subseq lines (min first (length lines)) (min start (length lines))))
         (below (seq-subseq lines (min behind (length lines)) (min last (length lines))))
         (around (+ (length above) (length below)))
         (old-start (- (plist-get hunk :baseStart) (length above))))
    (insert (format "@@ -%d,%d +%d,%d @@ hunk %d%s\n"
                    (if (= 0 (+ around (length base))) old-start (1+ old-start)) (+ around (length base))
                    (if (= 0 (+ around (length now))) first (1+ first)) (+ around (length now))
                    (plist-get hunk :id) (sould-hunks-by hunk)))
    (mapc (lambda (line) (sould-diff--insert-line " " line)) above)
    (mapc (lambda (line) (sould-diff--insert-line "-" line)) base)
    (mapc (lambda (line) (sould-diff--insert-line "+" line)) now)
    (mapc (lambda (line) (sould-diff--insert-line " " line)) below)
    last))

(defun sould-diff--insert-line (sign line)
  "Insert LINE behind SIGN."
  (insert sign (string-trim-right line "[\r\n]+") "\n")
  (unless (string-suffix-p "\n" line)
    (insert "\\ No newline at end of file\n")))

;;;; Going to the file

(defun sould-diff-visit (&optional other-window)
  "Go to the hunk at point in its file, in the OTHER-WINDOW if asked."
  (interactive)
  (let ((hunk (or (sould-diff--at (point)) (user-error "No hunk here"))))
    (if other-window
        (let ((buffer (find-file-noselect (plist-get hunk :path))))
          (select-window (display-buffer buffer '(display-buffer-use-some-window (inhibit-same-window . t))))
          (sould-review-visit hunk))
      (sould-review-visit hunk))))

(defun sould-diff-visit-other-window ()
  "Go to the hunk at point in its file, in another window."
  (interactive)
  (sould-diff-visit t))

;;;; Following the server

(defun sould-diff--changed (project _paths)
  "Show anew what is pending in PROJECT, wherever it is shown."
  (dolist (buffer (buffer-list))
    (when (eq project (buffer-local-value 'sould-diff--project buffer))
      (with-current-buffer buffer
        (sould-diff-refresh)))))

(add-hook 'sould-project-changed-functions #'sould-diff--changed t)

(provide 'sould-diff)
;;; sould-diff.el ends here
